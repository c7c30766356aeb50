import Testing

/// The whole pipeline as producers, devices and monitors meet it, with nothing in its way.
@Suite(.timeLimit(.minutes(10))) struct PipelineTests {
    @Test func `every door takes messages, and monitors are told what became of each`() async throws {
        try await PythonScene.run("pushing", "every_door")
    }

    @Test func `an id stands for one message, also after a restart and after a kill`() async throws {
        try await PythonScene.run("pushing", "one_id")
    }

    @Test func `what is published and what is replayed agree, and each event names the one before it`() async throws {
        try await PythonScene.run("pushing", "chains")
    }

    @Test func `devices are reached by user, tag, id, and all of them`() async throws {
        try await PythonScene.run("reaching", "audiences")
    }

    @Test func `a device that is gone is passed over until it comes again`() async throws {
        try await PythonScene.run("reaching", "gone_and_back")
    }

    @Test func `a flood of bad tokens trips the brake`() async throws {
        try await PythonScene.run("reaching", "brake")
    }

    @Test func `messages wait for their time, and expire at theirs`() async throws {
        try await PythonScene.run("timing", "later")
    }

    @Test func `an answer that never came is told, and decided by the message`() async throws {
        try await PythonScene.run("timing", "unknown")
    }

    @Test func `a service that shuts down for a moment is asked again soon`() async throws {
        try await PythonScene.run("timing", "shutting_down")
    }

    @Test func `with CURVE each client may do what it may, as of the last reload`() async throws {
        try await PythonScene.run("securing", "curve")
    }

    @Test func `a reload takes rights from connections that stand, whatever credentials do`() async throws {
        try await PythonScene.run("securing", "revoked")
    }

    @Test func `a reload ends a live subscription wherever the replay socket is`() async throws {
        try await PythonScene.run("securing", "revoked_without_replay")
    }

    @Test func `the memory of a process with keys is not dumped`() async throws {
        try await PythonScene.run("securing", "private_memory")
    }

    @Test func `an app that has reached a limit is busy, and others go on`() async throws {
        try await PythonScene.run("securing", "quotas")
    }

    @Test func `the examples work together: a subscriber that was stopped misses nothing`() async throws {
        try await PythonScene.run("examples", "together")
    }
}

/// The operator's view: log lines, look-ups, tables and `check`.
@Suite(.timeLimit(.minutes(10))) struct PipelineUseTests {
    @Test func `a start, a crash and a drain each have their line, and a log of JSON is nothing else`() async throws {
        try await PythonScene.run("using", "told")
    }

    @Test func `who follows or watches goes on after a restart`() async throws {
        try await PythonScene.run("using", "restart")
    }

    @Test func `no table is wider than the terminal`() async throws {
        try await PythonScene.run("using", "narrow")
    }

    @Test func `a message says whom it was for, and is found by what is known of it`() async throws {
        try await PythonScene.run("using", "one_message")
    }

    @Test func `check and serve find the same faults, with the same exit code`() async throws {
        try await PythonScene.run("using", "checked")
    }
}

/// How it ends and begins again.
@Suite(.timeLimit(.minutes(10))) struct PipelineRestartTests {
    @Test func `SIGTERM under load loses nothing and doubles nothing`() async throws {
        try await PythonScene.run("stopping", "drained")
    }

    @Test func `a second SIGTERM ends it at once`() async throws {
        try await PythonScene.run("stopping", "insisted")
    }

    @Test func `a drain whose time is over says what is unanswered, and the next start says it too`() async throws {
        try await PythonScene.run("stopping", "overdue")
    }

    @Test func `messages of an app without a credential wait until it is mended`() async throws {
        try await PythonScene.run("stopping", "mended")
    }
}

/// What `Documentation/Pipeline.md` says of each fault.
@Suite(.timeLimit(.minutes(10))) struct PipelineFaultTests {
    @Test func `a full disk makes it busy, and nothing acknowledged is lost`() async throws {
        try await PythonScene.run("breaking", "disk_full")
    }

    @Test func `it may be stopped while the disk is full`() async throws {
        try await PythonScene.run("breaking", "disk_stays_full")
    }

    @Test func `a disk that is really full loses nothing that was acknowledged`() async throws {
        try await PythonScene.run("breaking", "disk_small")
    }

    @Test func `killed again and again, it loses nothing and doubles what is allowed`() async throws {
        try await PythonScene.run("breaking", "killed")
    }

    @Test func `a broadcast that is killed several times reaches everybody`() async throws {
        try await PythonScene.run("breaking", "broadcast_killed")
    }

    @Test func `a data directory that is no use is named`() async throws {
        try await PythonScene.run("breaking", "unusable")
    }

    @Test func `a torn last write loses nothing that was acknowledged`() async throws {
        try await PythonScene.run("breaking", "torn")
    }

    @Test func `what came while the push service was down is delivered when it is back, once`() async throws {
        try await PythonScene.run("breaking", "service_down")
    }

    @Test func `a subscriber that never reads hurts nobody else`() async throws {
        try await PythonScene.run("crowding", "deaf_subscriber")
    }

    @Test func `a producer that never reads hurts nobody else`() async throws {
        try await PythonScene.run("crowding", "deaf_producer")
    }

    @Test func `apps that are down do not starve one that is up`() async throws {
        try await PythonScene.run("waiting", "starving")
    }

    @Test func `a tag expression that nobody can answer holds up no audience of any app`() async throws {
        try await PythonScene.run("waiting", "too_deep")
    }

    @Test func `what waits of an app that is gone can be dropped`() async throws {
        try await PythonScene.run("waiting", "dropped")
    }

    @Test func `an accepted message that is damaged ends, and is named`() async throws {
        try await PythonScene.run("waiting", "damaged")
    }

    @Test func `users whose names look alike each get theirs`() async throws {
        try await PythonScene.run("waiting", "spellings")
    }

    @Test func `garbage is answered, counted and survived`() async throws {
        try await PythonScene.run("crowding", "garbage")
    }

    @Test func `no more ids are remembered than may be, and the log says so`() async throws {
        try await PythonScene.run("crowding", "as_many_ids")
    }

    @Test func `an audience that is too large is refused`() async throws {
        try await PythonScene.run("crowding", "too_many")
    }
}

/// Peers that would bring the process down.
@Suite(.timeLimit(.minutes(10))) struct PipelineGuardTests {
    @Test func `an HTTP request is no message`() async throws {
        try await PythonScene.run("guarding", "posted")
    }

    @Test func `a routing id that is too long ends the connection`() async throws {
        try await PythonScene.run("guarding", "long_names")
    }

    @Test func `a message without an end costs its sender the connection`() async throws {
        try await PythonScene.run("guarding", "endless")
    }

    @Test func `messages without an end in many connections are bounded together`() async throws {
        try await PythonScene.run("guarding", "many_endless")
    }

    @Test func `a connection that is reset while nothing is read from it hurts nobody`() async throws {
        try await PythonScene.run("guarding", "reset_while_stopped")
    }

    @Test func `clients that end at the worst moment hurt nobody`() async throws {
        try await PythonScene.run("guarding", "ended_badly")
    }

    @Test func `more HTTP connections than descriptors hurt nobody`() async throws {
        try await PythonScene.run("guarding", "no_descriptors")
    }

    @Test func `hundreds of silent connections leave room for health checks and control`() async throws {
        try await PythonScene.run("guarding", "crowd")
    }

    @Test func `the limit of descriptors is raised at start`() async throws {
        try await PythonScene.run("guarding", "descriptors_raised")
    }
}
