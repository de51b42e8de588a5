WITH candidates AS (
  SELECT DISTINCT host AS c_host, boot_id AS c_boot, pid AS c_pid, start_ns AS c_start
  FROM process WHERE {{hosts}} AND {{days}} AND {{job_is identifier}}
), told AS (
  SELECT host, boot_id, pid, start_ns, comm, exe, identifier, {{join}}(command, chr(31)) AS words,
    {{micros time}} * 1000 - at_ns AS offset_ns,
    row_number() OVER (PARTITION BY host, boot_id, pid, start_ns
      ORDER BY coalesce(exec_ns, at_ns) DESC, at_ns DESC) AS place
  FROM process JOIN candidates ON host = c_host AND boot_id = c_boot AND pid = c_pid
    AND start_ns = c_start
  WHERE {{days}}
), named AS (
  SELECT *, {{base}} AS base FROM told WHERE place = 1 AND {{job_is identifier}}
), who AS (
  SELECT host, boot_id, pid, start_ns, offset_ns,
    {{program}} AS program
  FROM named
), ended AS (
  SELECT host, boot_id, pid, start_ns, end_ns, comm, {{micros time}} * 1000 - at_ns AS offset_ns,
    identifier, coalesce(cpu_time, cpu_time_min) AS cpu_time, bytes_read, bytes_written, disk_read,
    disk_written
  FROM {{name exit}} WHERE {{hosts}} AND {{days}}
), silent AS (
  SELECT * FROM ended WHERE {{job_is identifier}}
)
SELECT w.host, w.boot_id, w.pid, w.start_ns, w.program, greatest(w.offset_ns, coalesce(e.offset_ns, w.offset_ns)) AS offset_ns,
  e.end_ns, e.cpu_time, e.bytes_read, e.bytes_written, e.disk_read, e.disk_written
FROM who AS w LEFT JOIN ended AS e ON e.host = w.host AND e.boot_id = w.boot_id AND e.pid = w.pid
  AND e.start_ns = w.start_ns
UNION ALL
SELECT s.host, s.boot_id, s.pid, s.start_ns, coalesce(s.comm, '') AS program, s.offset_ns,
  s.end_ns, s.cpu_time, s.bytes_read, s.bytes_written, s.disk_read, s.disk_written
FROM silent AS s LEFT JOIN (
  SELECT host, boot_id, pid, start_ns FROM process
  WHERE {{hosts}} AND {{days}} AND identifier IS NOT NULL
  GROUP BY host, boot_id, pid, start_ns
) AS p ON p.host = s.host AND p.boot_id = s.boot_id AND p.pid = s.pid AND p.start_ns = s.start_ns
WHERE p.pid IS NULL
ORDER BY host, boot_id, start_ns, pid
