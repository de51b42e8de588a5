told AS (
{{told}}
), named AS (
  SELECT *, {{base}} AS base FROM told
), who AS (
  SELECT host, boot_id, pid, start_ns, ppid, comm, exe, uid, identifier, subidentifier, words,
    coalesce({{name user}}, CAST(uid AS {{string}})) AS person,
    {{program}} AS program
  FROM named
)
