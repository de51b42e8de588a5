WITH {{life}}, {{jobs}}, mounts AS (
  SELECT host, instance AS mount, max(CASE WHEN metric = 'file_system_size' THEN 0 ELSE 1 END) AS far,
    min(CASE WHEN metric = 'file_system_available' THEN value END) AS free_least
  FROM node WHERE {{hosts}} AND {{window}}
    AND metric IN ('file_system_size', 'file_system_available', 'nfs_read', 'lustre_bytes')
    AND instance LIKE '/%'
  GROUP BY host, instance
), opened AS (
  SELECT host, boot_id, pid, start_ns, path,
    max(CASE WHEN {{name mode}} IN ('w', 'rw') THEN 1 ELSE 0 END) AS is_written
  FROM descriptor
  WHERE {{hosts}} AND {{window}} AND {{pids}} AND {{name type}} = 'file' AND path LIKE '/%'
  GROUP BY host, boot_id, pid, start_ns, path
), paths AS (
  SELECT DISTINCT host, path FROM opened
), placed AS (
  SELECT p.host, p.path, m.mount,
    row_number() OVER (PARTITION BY p.host, p.path ORDER BY length(m.mount) DESC, m.mount) AS place
  FROM paths AS p JOIN mounts AS m ON m.host = p.host
    AND (p.path = m.mount OR m.mount = '/' OR substr(p.path, 1, length(m.mount) + 1) = m.mount || '/')
), uses AS (
  SELECT l.mount, o.host, o.boot_id, o.pid, o.start_ns, count(*) AS files,
    sum(o.is_written) AS files_written
  FROM opened AS o JOIN placed AS l ON l.host = o.host AND l.path = o.path AND l.place = 1
  GROUP BY l.mount, o.host, o.boot_id, o.pid, o.start_ns
), inferred AS (
  SELECT u.mount, c.person, c.identifier, CAST(count(*) AS BIGINT) AS processes,
    CAST(sum(u.files) AS BIGINT) AS files, CAST(sum(u.files_written) AS BIGINT) AS files_written,
    CAST(sum(c.bytes_read) AS BIGINT) AS bytes_read,
    CAST(sum(c.bytes_written) AS BIGINT) AS bytes_written
  FROM uses AS u JOIN chosen AS c ON c.host = u.host AND c.boot_id = u.boot_id AND c.pid = u.pid
    AND c.start_ns = u.start_ns
  GROUP BY u.mount, c.person, c.identifier
), counted AS (
  SELECT host, boot_id, metric, instance, max(value) - min(value) AS value
  FROM node WHERE {{hosts}} AND {{window}} AND metric IN ('nfs_read', 'nfs_written', 'lustre_bytes')
  GROUP BY host, boot_id, metric, instance
), known AS (
  SELECT CASE WHEN metric = 'lustre_bytes' THEN regexp_replace(instance, ' [a-z_]+$', '')
    ELSE instance END AS mount,
    CASE WHEN metric = 'nfs_read' OR instance LIKE '% read_bytes' THEN value ELSE 0 END AS bytes_read,
    CASE WHEN metric = 'nfs_written' OR instance LIKE '% write_bytes' THEN value ELSE 0 END
      AS bytes_written
  FROM counted
), spaces AS (
  SELECT mount, min(free_least) AS free_least FROM mounts GROUP BY mount
), rows AS (
  SELECT mount, 'exact' AS method, NULL AS person, NULL AS identifier,
    CAST(NULL AS BIGINT) AS processes, CAST(NULL AS BIGINT) AS files,
    CAST(NULL AS BIGINT) AS files_written, CAST(sum(bytes_read) AS BIGINT) AS bytes_read,
    CAST(sum(bytes_written) AS BIGINT) AS bytes_written
  FROM known GROUP BY mount
  UNION ALL
  SELECT mount, 'upper_bound', person, identifier, processes, files, files_written, bytes_read,
    bytes_written
  FROM inferred
), accounts AS (
  SELECT identifier, max(account) AS account FROM jobs GROUP BY identifier
)
SELECT r.mount, r.method, r.person AS {{name user}}, a.account, r.identifier AS job,
  r.processes, r.files, r.files_written, r.bytes_read, r.bytes_written, s.free_least
FROM rows AS r LEFT JOIN accounts AS a ON a.identifier = r.identifier
  LEFT JOIN spaces AS s ON s.mount = r.mount
ORDER BY coalesce(r.bytes_read, 0) + coalesce(r.bytes_written, 0) DESC, r.mount, r.method,
  coalesce(r.person, ''), coalesce(r.identifier, '')
LIMIT {{rows 50}}
