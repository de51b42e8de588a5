WITH {{jobs}}, charged AS (
  SELECT host, boot_id, max(cgroup_memory_peak) AS cgroup_peak, max(cgroup_cpu_time) AS cgroup_cpu_time
  FROM job WHERE {{job_is identifier}} GROUP BY host, boot_id
), had AS (
  SELECT host, coalesce(max(cpus_allocated), max(cpus_requested)) AS cpus,
    coalesce(max(memory_requested), max(memory_limit)) AS memory,
    coalesce(max(gpus_allocated), max(gpus_requested)) AS gpus
  FROM granted WHERE of_all = 0 AND {{job_is identifier}} GROUP BY host
)
SELECT h.*, c.boot_id, c.cgroup_peak, c.cgroup_cpu_time FROM had AS h JOIN charged AS c ON c.host = h.host
