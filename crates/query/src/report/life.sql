seen AS (
{{seen}}
),
ended AS (
  SELECT host, boot_id, pid, start_ns, end_ns, exit_code, signal, ppid AS end_ppid, uid AS end_uid,
    comm AS end_comm, identifier AS end_identifier, subidentifier AS end_subidentifier,
{{ended_counters}}    rss_peak AS rss_peak_end
  FROM {{name exit}} WHERE {{hosts}} AND {{ends}} AND {{pids}}
),
begun AS (
  {{begun}}
),
met AS (
  SELECT coalesce(s.host, e.host) AS host, coalesce(s.boot_id, e.boot_id) AS boot_id,
    coalesce(s.pid, e.pid) AS pid, coalesce(s.start_ns, e.start_ns) AS start_ns,
    s.first_ns, s.last_ns, s.readings, s.readings_blocked, s.rss_seen, s.rss_peak_seen,
{{met_counters}}    e.end_ns, e.exit_code, e.signal, e.end_ppid, e.end_uid, e.end_comm, e.end_identifier,
    e.end_subidentifier, e.rss_peak_end
  FROM seen AS s FULL JOIN ended AS e
    ON s.host = e.host AND s.boot_id = e.boot_id AND s.pid = e.pid AND s.start_ns = e.start_ns
), dated AS (
  {{dated}}
), used AS (
  SELECT m.host, m.boot_id, m.pid, m.start_ns, m.end_ns, m.exit_code, m.signal, m.end_ppid, m.end_uid,
    m.end_comm, m.end_identifier, m.end_subidentifier,
    coalesce(m.rss_peak_end, m.rss_peak_seen, m.rss_seen) AS rss_peak,
    greatest(m.start_ns, m.begin_ns) AS from_ns,
    coalesce(m.end_ns, m.last_ns) - greatest(m.start_ns, m.begin_ns) AS wall_time,
    CASE WHEN m.readings > 1 THEN
      m.readings_blocked * {{div (m.last_ns - m.first_ns), (m.readings - 1)}}
      ELSE 0 END AS blocked_time,
{{used_counters}}    coalesce(m.cpu_time_end - coalesce(m.cpu_time_last, 0), 0) AS cpu_behind, 1 AS processes
  FROM dated AS m
), life AS (
  SELECT u.host, u.boot_id, u.pid, u.start_ns, u.from_ns, u.end_ns, u.exit_code, u.signal,
    coalesce(w.ppid, u.end_ppid) AS ppid, w.exe, w.words,
    coalesce(w.comm, u.end_comm) AS comm,
    coalesce(w.program, u.end_comm, '') AS program,
    coalesce(w.person, CAST(u.end_uid AS {{string}}), '') AS person,
    coalesce(w.identifier, u.end_identifier, '') AS identifier,
    coalesce(w.subidentifier, u.end_subidentifier, '') AS subidentifier,
    u.rss_peak, CASE WHEN u.wall_time > 0 THEN u.wall_time ELSE 0 END AS wall_time,
    u.blocked_time, {{names_of_counters}}, u.cpu_behind, u.processes
  FROM used AS u LEFT JOIN who AS w
    ON w.host = u.host AND w.boot_id = u.boot_id AND w.pid = u.pid AND w.start_ns = u.start_ns
), chosen AS (
  SELECT * FROM life WHERE {{chosen}}
)
