WITH {{life}}
SELECT host, pid, start_ns, program, wall_time, cpu_time, rss_peak, exit_code, signal,
  replace(words, chr(31), ' ') AS command
FROM chosen
ORDER BY wall_time DESC, coalesce(cpu_time, 0) DESC, host, pid
LIMIT {{rows 5}}
