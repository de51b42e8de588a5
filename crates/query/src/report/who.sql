told AS (
  SELECT host, boot_id, pid, start_ns, ppid, comm, exe, uid, {{name user}}, identifier,
    subidentifier, {{join}}(command, chr(31)) AS words,
    row_number() OVER (PARTITION BY host, boot_id, pid, start_ns
      ORDER BY coalesce(exec_ns, at_ns) DESC, at_ns DESC) AS place
  FROM process WHERE {{hosts}} AND {{days}} AND {{pids}}
), named AS (
  SELECT *, {{base}} AS base FROM told WHERE place = 1
), who AS (
  SELECT host, boot_id, pid, start_ns, ppid, comm, exe, uid, identifier, subidentifier, words,
    coalesce({{name user}}, CAST(uid AS {{string}})) AS person,
    {{program}} AS program
  FROM named
)
