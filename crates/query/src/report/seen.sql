  SELECT host, boot_id, pid, start_ns, min(at_ns) AS first_ns, max(at_ns) AS last_ns,
    count(*) AS readings, sum(CASE WHEN state = 'D' THEN 1 ELSE 0 END) AS readings_blocked,
{{seen_counters}}    max(rss) AS rss_seen, max(rss_peak) AS rss_peak_seen
  FROM sample WHERE {{hosts}} AND {{window}} AND {{pids}}
  GROUP BY host, boot_id, pid, start_ns
