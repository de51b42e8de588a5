WITH {{life}}, {{jobs}}, {{peaks}}, works AS (
  SELECT c.identifier, max(c.person) AS person, CAST(count(*) AS BIGINT) AS processes,
    CAST(count(DISTINCT c.host) AS BIGINT) AS hosts, CAST(sum(c.cpu_time) AS BIGINT) AS cpu_time,
    max(c.from_ns + c.wall_time) - min(c.from_ns) AS elapsed, max(c.rss_peak) AS rss_largest
  FROM chosen AS c GROUP BY c.identifier
), had AS (
  SELECT j.scheduler, j.identifier,
    CASE WHEN coalesce(j.nodes, 1) <= w.hosts THEN coalesce(j.cpus_allocated, j.cpus_requested)
      ELSE j.cpus_of_hosts END AS cpus,
    CASE WHEN coalesce(j.nodes, 1) <= w.hosts
      THEN coalesce(j.memory_allocated, j.memory_requested, j.memory_of_hosts)
      ELSE j.memory_of_hosts END AS memory
  FROM jobs AS j JOIN works AS w ON w.identifier = j.identifier
)
SELECT j.scheduler, j.identifier, j.array_job || '_' || j.array_task AS array_id,
  coalesce(j.job_user, w.person) AS {{name user}}, j.account,
  j.job_name AS name, j.state, j.nodes, w.hosts, w.processes, w.elapsed, j.time_limit,
  h.cpus, w.cpu_time,
  CAST(w.cpu_time AS DOUBLE) / nullif(CAST(w.elapsed AS DOUBLE) * h.cpus, 0) AS cpu_efficiency,
  CAST(coalesce(p.rss_peak, w.rss_largest) AS BIGINT) AS rss_peak, h.memory AS memory_had,
  CAST(coalesce(p.rss_peak, w.rss_largest) AS DOUBLE) / nullif(CAST(h.memory AS DOUBLE), 0)
    AS memory_efficiency
FROM jobs AS j JOIN works AS w ON w.identifier = j.identifier
  JOIN had AS h ON h.scheduler = j.scheduler AND h.identifier = j.identifier
  LEFT JOIN peaks AS p ON p.identifier = j.identifier
WHERE j.scheduler NOT IN ('systemd', 'login')
ORDER BY coalesce(w.cpu_time, -1) DESC, j.scheduler, j.identifier
LIMIT {{rows 100}}
