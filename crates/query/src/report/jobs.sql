granted AS (
  SELECT scheduler, identifier, host, of_all, max(array_job) AS array_job,
    max(array_task) AS array_task, max({{name user}}) AS job_user, max(account) AS account,
    max({{name partition}}) AS queue, max(name) AS job_name, max(nodes) AS nodes,
    max(cpus_requested) AS cpus_requested, max(cpus_allocated) AS cpus_allocated,
    max(memory_requested) AS memory_requested, max(memory_allocated) AS memory_allocated,
    max(memory_limit) AS memory_limit, max(gpus_requested) AS gpus_requested,
    max(gpus_allocated) AS gpus_allocated, max(time_limit) AS time_limit,
    max(CASE WHEN ended IS NOT NULL THEN state END) AS state_at_end, max(state) AS state,
    max(exit_status) AS exit_status, max(started) AS started, max(ended) AS ended
  FROM (SELECT *, CASE WHEN boot_id = 'sacct' THEN 1 ELSE 0 END AS of_all FROM job) AS told
  GROUP BY scheduler, identifier, host, of_all
), jobs AS (
  SELECT scheduler, identifier, max(array_job) AS array_job, max(array_task) AS array_task,
    max(job_user) AS job_user, max(account) AS account, max(queue) AS queue,
    max(job_name) AS job_name, max(nodes) AS nodes,
    {{whole cpus_requested}}, {{whole cpus_allocated}}, {{whole memory_requested}},
    {{whole memory_allocated}}, max(memory_limit) AS memory_limit, {{whole gpus_requested}},
    {{whole gpus_allocated}}, max(time_limit) AS time_limit,
    coalesce(max(state_at_end), max(state)) AS state,
    max(exit_status) AS exit_status, max(started) AS started, max(ended) AS ended,
    {{of_hosts coalesce(cpus_allocated, cpus_requested)}} AS cpus_of_hosts,
    {{of_hosts coalesce(memory_requested, memory_limit)}} AS memory_of_hosts
  FROM granted GROUP BY scheduler, identifier
)
