SELECT host, boot_id, pid, start_ns, coalesce(exec_ns, at_ns) AS since_ns, at_ns, ppid, comm, exe,
      uid, {{name user}}, identifier, subidentifier, {{join}}(command, chr(31)) AS words
    FROM process WHERE {{hosts}} AND {{days}} AND {{pids}}
