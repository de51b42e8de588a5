SELECT host, boot_id, pid, start_ns, at_ns, rss, rss_anon + rss_shmem AS held, cpu_time, bytes_read,
  bytes_written, disk_read, disk_written
FROM sample WHERE {{hosts}} AND {{window}} AND {{members}}
