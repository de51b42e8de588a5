WITH {{life}}, spans AS (
  SELECT host, boot_id, min(from_ns) AS from_ns, max(from_ns + wall_time) AS to_ns
  FROM chosen GROUP BY host, boot_id
), devices AS (
  SELECT DISTINCT n.host, n.instance
  FROM spans AS s JOIN (
    SELECT host, boot_id, instance, at_ns FROM node
    WHERE {{hosts}} AND {{window}} AND metric LIKE 'gpu_device_%' AND instance LIKE 'GPU-%'
  ) AS n ON n.host = s.host AND n.boot_id = s.boot_id AND n.at_ns >= s.from_ns AND n.at_ns <= s.to_ns
)
SELECT CAST(count(*) AS BIGINT) AS devices FROM devices
