jobs AS (
  SELECT scheduler, identifier, max(array_job) AS array_job, max(array_task) AS array_task,
    max({{name user}}) AS job_user, max(account) AS account, max({{name partition}}) AS queue,
    max(name) AS job_name, max(nodes) AS nodes, max(cpus_requested) AS cpus_requested,
    max(cpus_allocated) AS cpus_allocated, max(memory_requested) AS memory_requested,
    max(memory_allocated) AS memory_allocated, max(memory_limit) AS memory_limit,
    max(gpus_requested) AS gpus_requested, max(gpus_allocated) AS gpus_allocated,
    max(time_limit) AS time_limit,
    coalesce(max(CASE WHEN ended IS NOT NULL THEN state END), max(state)) AS state,
    max(exit_status) AS exit_status, max(started) AS started, max(ended) AS ended
  FROM job GROUP BY scheduler, identifier
)
