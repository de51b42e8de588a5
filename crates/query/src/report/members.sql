WITH {{who}}, {{jobs}}, told_of AS (
  SELECT coalesce(w.host, e.host) AS host, coalesce(w.boot_id, e.boot_id) AS boot_id,
    coalesce(w.pid, e.pid) AS pid, coalesce(w.start_ns, e.start_ns) AS start_ns,
    coalesce(w.identifier, e.identifier) AS identifier,
    coalesce(w.person, CAST(e.uid AS {{string}}), '') AS person
  FROM who AS w FULL JOIN (
    SELECT host, boot_id, pid, start_ns, uid, identifier FROM {{name exit}}
    WHERE {{hosts}} AND {{ends}} AND {{pids}} AND identifier IS NOT NULL
  ) AS e ON e.host = w.host AND e.boot_id = w.boot_id AND e.pid = w.pid AND e.start_ns = w.start_ns
)
SELECT host, boot_id, pid, start_ns, identifier FROM told_of
WHERE {{chosen}} AND identifier IN
  (SELECT identifier FROM jobs WHERE scheduler NOT IN ('systemd', 'login'))
