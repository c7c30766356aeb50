import TestTraits
import Testing

/// Tests of the whole pipeline with producers, devices and monitors, without faults.
@Suite(.waits) struct PipelineTests {
    @Test func `All intake sockets accept messages, and monitors receive all outcomes`() async throws {
        try await PythonScene.run("pushing", "every_door")
    }

    @Test func `A message id identifies one message, also after a restart and a kill`() async throws {
        try await PythonScene.run("pushing", "one_id")
    }

    @Test func `Published and replayed events are equal, and each names its predecessor`() async throws {
        try await PythonScene.run("pushing", "chains")
    }

    @Test func `Devices are reached by user, tag, id and all`() async throws {
        try await PythonScene.run("reaching", "audiences")
    }

    @Test func `An unregistered device is suppressed until it registers again`() async throws {
        try await PythonScene.run("reaching", "gone_and_back")
    }

    @Test func `A flood of bad tokens pauses the deactivation of devices`() async throws {
        try await PythonScene.run("reaching", "brake")
    }

    @Test func `Scheduled messages are not sent early, and expired messages are not sent`() async throws {
        try await PythonScene.run("timing", "later")
    }

    @Test func `A missing response is reported, and the message decides about a retry`() async throws {
        try await PythonScene.run("timing", "unknown")
    }

    @Test func `A short shutdown of the push service is retried soon`() async throws {
        try await PythonScene.run("timing", "shutting_down")
    }

    @Test func `With CURVE, each client has exactly its rights as of the last reload`() async throws {
        try await PythonScene.run("securing", "curve")
    }

    @Test func `A reload removes rights from existing connections without waiting for credentials`() async throws {
        try await PythonScene.run("securing", "revoked")
    }

    @Test func `A reload ends a live subscription, also if the replay socket is off or has no keys`() async throws {
        try await PythonScene.run("securing", "revoked_without_replay")
    }

    @Test func `The memory of a process with keys is not dumped`() async throws {
        try await PythonScene.run("securing", "private_memory")
    }

    @Test func `An app at its limit is busy, and other apps are not affected`() async throws {
        try await PythonScene.run("securing", "quotas")
    }

    @Test func `The examples work together, and a stopped subscriber misses no events`() async throws {
        try await PythonScene.run("examples", "together")
    }

    @Test func `The examples with curl register a device and push to it`() async throws {
        try await PythonScene.run("examples", "register")
    }
}

/// Tests of what operators use: log lines, queries, tables and `check`.
@Suite(.waits) struct PipelineUseTests {
    @Test func `A start, a crash and a drain are logged, and a JSON log contains nothing else`() async throws {
        try await PythonScene.run("using", "told")
    }

    @Test func `The options --follow and --watch continue after a restart`() async throws {
        try await PythonScene.run("using", "restart")
    }

    @Test func `No table is wider than the terminal`() async throws {
        try await PythonScene.run("using", "narrow")
    }

    @Test func `A message shows its audience and is found by id, apns-id, user and time`() async throws {
        try await PythonScene.run("using", "one_message")
    }

    @Test func `The verbs check and serve report the same faults with the same exit code`() async throws {
        try await PythonScene.run("using", "checked")
    }
}

/// Tests of stops and restarts.
@Suite(.waits) struct PipelineRestartTests {
    @Test func `SIGTERM under load causes no loss and no duplicates`() async throws {
        try await PythonScene.run("stopping", "drained")
    }

    @Test func `A second SIGTERM ends the process at once`() async throws {
        try await PythonScene.run("stopping", "insisted")
    }

    @Test func `A drain that times out logs the unanswered deliveries, and so does the next start`() async throws {
        try await PythonScene.run("stopping", "overdue")
    }

    @Test func `Messages of an app without a usable credential wait until it is fixed`() async throws {
        try await PythonScene.run("stopping", "mended")
    }
}

/// Tests of the faults that `Documentation/Pipeline.md` describes.
@Suite(.waits) struct PipelineFaultTests {
    @Test func `A full disk makes serve busy, and no acknowledged message is lost`() async throws {
        try await PythonScene.run("breaking", "disk_full")
    }

    @Test func `A stop while the disk is full loses no acknowledged message`() async throws {
        try await PythonScene.run("breaking", "disk_stays_full")
    }

    @Test func `A disk without free space loses no acknowledged message`() async throws {
        try await PythonScene.run("breaking", "disk_small")
    }

    @Test func `Repeated kills lose no message and cause only the permitted duplicates`() async throws {
        try await PythonScene.run("breaking", "killed")
    }

    @Test func `A broadcast reaches all devices despite several kills`() async throws {
        try await PythonScene.run("breaking", "broadcast_killed")
    }

    @Test func `An unusable data directory is reported`() async throws {
        try await PythonScene.run("breaking", "unusable")
    }

    @Test func `A torn last write loses no acknowledged message`() async throws {
        try await PythonScene.run("breaking", "torn")
    }

    @Test func `Messages accepted during an outage are delivered once after it`() async throws {
        try await PythonScene.run("breaking", "service_down")
    }

    @Test func `A subscriber that never reads does not affect others`() async throws {
        try await PythonScene.run("crowding", "deaf_subscriber")
    }

    @Test func `A producer that never reads does not affect others`() async throws {
        try await PythonScene.run("crowding", "deaf_producer")
    }

    @Test func `Apps with unreachable push services do not delay other apps`() async throws {
        try await PythonScene.run("waiting", "starving")
    }

    @Test func `A tag expression that is too deep does not delay other audiences`() async throws {
        try await PythonScene.run("waiting", "too_deep")
    }

    @Test func `A message that has not gone out says why`() async throws {
        try await PythonScene.run("waiting", "explained")
    }

    @Test func `The waiting messages of an app can be dropped`() async throws {
        try await PythonScene.run("waiting", "dropped")
    }

    @Test func `A damaged message is rejected and reported`() async throws {
        try await PythonScene.run("waiting", "damaged")
    }

    @Test func `Users with similar names are distinct`() async throws {
        try await PythonScene.run("waiting", "spellings")
    }

    @Test func `Invalid data is rejected and counted, and does no harm`() async throws {
        try await PythonScene.run("crowding", "garbage")
    }

    @Test func `The limit of remembered ids is kept and logged`() async throws {
        try await PythonScene.run("crowding", "as_many_ids")
    }

    @Test func `An audience that is too large is rejected`() async throws {
        try await PythonScene.run("crowding", "too_many")
    }
}

/// Tests of peers that try to crash or exhaust the process.
@Suite(.waits) struct PipelineGuardTests {
    @Test func `An HTTP request is not accepted as a message`() async throws {
        try await PythonScene.run("guarding", "posted")
    }

    @Test func `A connection with a routing id that is too long is closed`() async throws {
        try await PythonScene.run("guarding", "long_names")
    }

    @Test func `The connection of an endless message is closed`() async throws {
        try await PythonScene.run("guarding", "endless")
    }

    @Test func `The memory of endless messages in many connections is limited`() async throws {
        try await PythonScene.run("guarding", "many_endless")
    }

    @Test func `A connection that is reset while it is not read does no harm`() async throws {
        try await PythonScene.run("guarding", "reset_while_stopped")
    }

    @Test func `Clients that end at the worst moment do no harm`() async throws {
        try await PythonScene.run("guarding", "ended_badly")
    }

    @Test func `More HTTP connections than descriptors do no harm`() async throws {
        try await PythonScene.run("guarding", "no_descriptors")
    }

    @Test func `Hundreds of silent connections do not block health checks and the control socket`() async throws {
        try await PythonScene.run("guarding", "crowd")
    }

    @Test func `A full HTTP door leaves descriptors for everything else`() async throws {
        try await PythonScene.run("guarding", "full_door")
    }

    @Test func `The limit of descriptors is raised at the start`() async throws {
        try await PythonScene.run("guarding", "descriptors_raised")
    }
}
