//! An archive by HTTP: the page, what it asks for, and attempts that are submitted
//! (docs/serve.md).
//!
//! Whatever a client does, memory and time are bounded: so many connections, so many questions and
//! so many bytes of submissions at once, and none of them for ever.

mod answer;
mod ask;
mod connect;
mod listen;
mod route;
mod submit;
mod tls;
mod tokens;

pub use listen::Address;
pub use tokens::TokensError;

use crate::{Answers, Refusal};
use connect::Signals;
use listen::Listener;
use route::App;
use std::fmt;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use tls::Tls;
use tokens::Tokens;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem;

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The file of the certificate, with those that it rests on behind it.
    pub certificate: PathBuf,
    /// The file of its key.
    pub key: PathBuf,
}

/// What takes a line for people.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How the server is to be.
#[derive(Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: Address,
    /// Its certificate; without one it speaks plain HTTP.
    pub certificate: Option<Certificate>,
    /// Whether it may speak plain HTTP where other machines can reach it.
    pub is_insecure: bool,
    /// The file of those who may submit; without one nobody may.
    pub tokens: Option<PathBuf>,
    /// Bytes of one submission.
    pub submission_bytes_max: u32,
    /// The page, if this build has it.
    pub page: Option<&'static str>,
    /// What takes a line for each request.
    pub log: Option<Say>,
    /// What takes what goes wrong.
    pub say: Say,
}

/// Who takes in attempts.
pub trait Submissions: Send + Sync {
    /// Takes in what was submitted; when it returns all of that is on the device. `who` submits it,
    /// `set` is what the attempts are to belong to.
    ///
    /// # Errors
    /// Nothing could be taken in, or not all of it: the whole may be submitted again.
    fn take(
        &self,
        body: &mut dyn BufRead,
        who: &str,
        set: Option<String>,
    ) -> Result<Receipt, Refusal>;
}

/// What became of what was submitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Receipt {
    /// Records that were there.
    pub records: u64,
    /// Attempts that are new.
    pub new: u64,
    /// Attempts that were in the archive.
    pub known: u64,
    /// Records that are no attempts.
    pub rejected: u64,
    /// The ids of those that are in the archive now, in the order of the records.
    pub ids: Vec<String>,
    /// What is wrong with the first of the rejected ones.
    pub why: Vec<String>,
}

/// Why the server cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program is there.
    #[error("{address} is in use: another program listens there; --listen takes another address")]
    InUse {
        /// The address.
        address: Address,
    },
    /// Nobody can listen there.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: Address,
        /// What the kernel said.
        source: io::Error,
    },
    /// All that is shown and all tokens would cross a network unencrypted.
    #[error(
        "{address} is open to other machines, and without a certificate whoever is on the way \
         reads and changes all that is asked, told and submitted, tokens too: --certificate FILE \
         --key FILE, or an address of this machine behind ssh -L or a proxy, or --insecure"
    )]
    Insecure {
        /// The address.
        address: Address,
    },
    /// A certificate or key cannot be read.
    #[error("{}: no certificate or key in PEM can be read from it", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: pem::Error,
    },
    /// A certificate does not serve.
    #[error("{}: it does not serve as a certificate with that key", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
    /// There are no tokens.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The kernel gives no threads or signals.
    #[error("cannot start")]
    Start(#[source] io::Error),
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: Listener,
    address: Address,
    is_named: bool,
    signals: Signals,
    tls: Option<Tls>,
    tokens: Option<Tokens>,
    settings: Settings,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If it cannot, may not, or a file is not good.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let is_local = settings.listen.is_local();
        if !is_local && settings.certificate.is_none() && !settings.is_insecure {
            return Err(Error::Insecure {
                address: settings.listen,
            });
        }
        let tls = settings.certificate.as_ref().map(Tls::open).transpose()?;
        let tokens = settings.tokens.as_deref().map(Tokens::open).transpose()?;
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("serve")
            .max_blocking_threads(route::BLOCKING_MAX)
            .build()
            .map_err(Error::Start)?;
        let signals = runtime.block_on(async { Signals::open() });
        let listener = runtime.block_on(Listener::open(&settings.listen))?;
        Ok(Self {
            address: listener.address().map_err(Error::Start)?,
            // A name that others gave this machine's own address is a web site's trick.
            // A certificate is not fooled by it, and no browser finds a Unix socket.
            is_named: !is_local || tls.is_some() || matches!(settings.listen, Address::Path(_)),
            runtime,
            listener,
            signals: signals.map_err(Error::Start)?,
            tls,
            tokens,
            settings,
        })
    }

    /// Where a browser finds it.
    pub fn url(&self) -> String {
        let scheme = match self.tls {
            Some(_) => "https",
            None => "http",
        };
        match &self.address {
            Address::Port(address) => format!("{scheme}://{address}/"),
            Address::Path(path) => format!("{scheme}+unix:{}", path.display()),
        }
    }

    /// Answers until SIGINT or SIGTERM, and says which of them came. What is under way then has
    /// a few seconds to come to its end. SIGHUP reads tokens and certificate again.
    pub fn run(self, answers: Arc<dyn Answers>, submissions: Arc<dyn Submissions>) -> i32 {
        let app = App::new(
            self.settings,
            self.tokens,
            self.is_named,
            answers,
            submissions,
        );
        let serving = connect::serve(self.listener, self.tls, Arc::new(app), self.signals);
        let signal = self.runtime.block_on(serving);
        // What still reads the archive for a client that is gone is not waited for.
        self.runtime.shutdown_background();
        signal
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.url())
    }
}
