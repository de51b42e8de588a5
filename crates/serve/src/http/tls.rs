//! The certificate: read at the start, and again when asked to.

use super::{Certificate, Error};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};

/// TLS with the certificate as it was last read.
pub(super) struct Tls {
    files: Certificate,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    pub(super) fn open(files: &Certificate) -> Result<Self, Error> {
        Ok(Self {
            files: files.clone(),
            config: RwLock::new(read(files)?),
        })
    }

    /// Reads the files; if they are not good what was read before stays.
    pub(super) fn reload(&self) -> Result<(), Error> {
        let new = read(&self.files)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }
}

fn read(files: &Certificate) -> Result<Arc<ServerConfig>, Error> {
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(|certificates| certificates.collect());
    let chain = chain.map_err(|source| unread(&files.certificate, source))?;
    if chain.is_empty() {
        return Err(unread(&files.certificate, pem::Error::NoItemsFound));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|source| unread(&files.key, source))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|source| Error::Certificate {
        path: files.certificate.clone(),
        source,
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn unread(path: &Path, source: pem::Error) -> Error {
    Error::Pem {
        path: path.to_owned(),
        source,
    }
}
