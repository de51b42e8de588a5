WITH candidates AS (
  SELECT host AS c_host, boot_id AS c_boot, pid AS c_pid, start_ns AS c_start
  FROM process WHERE {{hosts}} AND {{days}} AND {{job_is identifier}}
  UNION
  SELECT host, boot_id, pid, start_ns
  FROM {{name exit}} WHERE {{hosts}} AND {{days}} AND {{job_is identifier}}
), told AS (
  SELECT host, boot_id, pid, start_ns, comm, exe, identifier, {{join}}(command, chr(31)) AS words,
    {{micros time}} * 1000 - at_ns AS offset_ns,
    row_number() OVER (PARTITION BY host, boot_id, pid, start_ns
      ORDER BY coalesce(exec_ns, at_ns) DESC, at_ns DESC) AS place
  FROM process JOIN candidates ON host = c_host AND boot_id = c_boot AND pid = c_pid
    AND start_ns = c_start
  WHERE {{days}}
), named AS (
  SELECT *, {{base}} AS base FROM told WHERE place = 1
), who AS (
  SELECT host, boot_id, pid, start_ns, offset_ns, identifier,
    {{program}} AS program
  FROM named
), ended AS (
  SELECT host, boot_id, pid, start_ns, end_ns, comm, {{micros time}} * 1000 - at_ns AS offset_ns,
    identifier, coalesce(cpu_time, cpu_time_min) AS cpu_time, bytes_read, bytes_written, disk_read,
    disk_written
  FROM {{name exit}} WHERE {{hosts}} AND {{days}}
), members AS (
  SELECT c_host AS host, c_boot AS boot_id, c_pid AS pid, c_start AS start_ns,
    coalesce(w.program, e.comm, '') AS program, coalesce(w.identifier, e.identifier) AS identifier,
    greatest(coalesce(w.offset_ns, e.offset_ns), coalesce(e.offset_ns, w.offset_ns)) AS offset_ns,
    e.end_ns, e.cpu_time, e.bytes_read, e.bytes_written, e.disk_read, e.disk_written
  FROM candidates LEFT JOIN who AS w ON w.host = c_host AND w.boot_id = c_boot AND w.pid = c_pid
    AND w.start_ns = c_start
  LEFT JOIN ended AS e ON e.host = c_host AND e.boot_id = c_boot AND e.pid = c_pid
    AND e.start_ns = c_start
)
SELECT host, boot_id, pid, start_ns, program, offset_ns, end_ns, cpu_time, bytes_read,
  bytes_written, disk_read, disk_written
FROM members WHERE {{job_is identifier}}
ORDER BY host, boot_id, start_ns, pid
