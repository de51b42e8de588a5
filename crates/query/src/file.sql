SELECT host, boot_id, pid, start_ns, path, min(time) AS first_seen, max(time) AS last_seen,
  max(CASE WHEN {{name mode}} IN ('r', 'rw') THEN 1 ELSE 0 END) AS is_read,
  max(CASE WHEN {{name mode}} IN ('w', 'rw') THEN 1 ELSE 0 END) AS is_written,
  max({{name position}}) AS position_max
FROM descriptor
WHERE {{name type}} = 'file' AND path IS NOT NULL
GROUP BY host, boot_id, pid, start_ns, path
