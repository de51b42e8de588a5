WITH {{jobs}}, counted AS (
  SELECT host, boot_id, metric, instance, time, at_ns, value,
    lag(value) OVER (PARTITION BY host, boot_id, metric, instance ORDER BY at_ns) AS before
  FROM node
  WHERE {{hosts}} AND {{window}} AND (metric IN ('kernel_log_events', 'kernel_log_lost',
    'edac_corrected', 'edac_uncorrected', 'core_throttles', 'package_throttles',
    'gpu_device_errors_corrected', 'gpu_device_errors_uncorrected')
    OR metric LIKE 'infiniband_%errors%')
), errors AS (
  SELECT host, boot_id, metric, instance, time, at_ns, value - before AS count
  FROM counted WHERE value > before
), there AS (
  SELECT host, boot_id, scheduler, identifier, max({{name user}}) AS job_user,
    min(first_start_ns) AS first_ns, max(last_seen_ns) AS last_ns
  FROM job
  WHERE {{hosts}} AND first_start_ns IS NOT NULL AND scheduler NOT IN ('systemd', 'login')
  GROUP BY host, boot_id, scheduler, identifier
), present AS (
  SELECT t.*, j.account, j.state
  FROM there AS t JOIN jobs AS j ON j.scheduler = t.scheduler AND j.identifier = t.identifier
)
SELECT e.time, e.host, e.metric, e.instance, e.count, p.scheduler, p.identifier,
  p.job_user AS {{name user}}, p.account, p.state
FROM errors AS e LEFT JOIN present AS p ON p.host = e.host AND p.boot_id = e.boot_id
  AND p.first_ns <= e.at_ns AND p.last_ns + 30000000000 >= e.at_ns
WHERE {{job_is p.identifier}} AND {{user_is p.job_user}}
ORDER BY e.time, e.host, e.metric, e.instance, coalesce(p.identifier, '')
LIMIT {{rows 200}}
