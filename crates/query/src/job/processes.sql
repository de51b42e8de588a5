WITH {{life}}
SELECT host, pid, start_ns, program, wall_time, cpu_time, rss_peak, exit_code, signal,
  replace(words, chr(31), ' ') AS command
FROM chosen
