import TestTraits
import Testing

/// Tests of the faults that `Documentation/Pipeline.md` describes.
@Suite(.waits) struct PipelineFaultTests {
    @Test func `A full disk makes serve busy, and no acknowledged message is lost`() async throws {
        try await PythonScene.run("full_disk", "busy_intake")
    }

    @Test func `A stop while the disk is full loses no acknowledged message`() async throws {
        try await PythonScene.run("full_disk", "stop_while_full")
    }

    @Test func `A disk without free space loses no acknowledged message`() async throws {
        try await PythonScene.run("full_disk", "small_disk")
    }

    @Test func `Repeated kills lose no message and cause only the permitted duplicates`() async throws {
        try await PythonScene.run("crashes", "repeated_kills")
    }

    @Test func `A broadcast reaches all devices despite several kills`() async throws {
        try await PythonScene.run("crashes", "broadcast")
    }

    @Test func `A broadcast with words by locale reaches all devices in theirs despite several kills`() async throws {
        try await PythonScene.run("crashes", "words_by_locale")
    }

    @Test func `Values for many devices are not in memory together`() async throws {
        try await PythonScene.run("message_memory", "values")
    }

    @Test func `A torn last write loses no acknowledged message`() async throws {
        try await PythonScene.run("crashes", "torn_write")
    }

    @Test func `A subscriber that never reads does not affect others`() async throws {
        try await PythonScene.run("slow_readers", "subscriber")
    }

    @Test func `A producer that never reads does not affect others`() async throws {
        try await PythonScene.run("slow_readers", "producer")
    }

    @Test func `Apps with unreachable push services do not delay other apps`() async throws {
        try await PythonScene.run("waiting_messages", "unreachable_apps")
    }

    @Test func `A tag expression that is too deep does not delay other audiences`() async throws {
        try await PythonScene.run("message_limits", "tag_depth")
    }

    @Test func `A message that has not gone out says why`() async throws {
        try await PythonScene.run("waiting_messages", "message_obstacles")
    }

    @Test func `The waiting messages of an app can be dropped`() async throws {
        try await PythonScene.run("waiting_messages", "dropped_messages")
    }

    @Test func `Users with similar names are distinct`() async throws {
        try await PythonScene.run("devices", "similar_names")
    }

    @Test func `Invalid data is rejected and counted, and does no harm`() async throws {
        try await PythonScene.run("invalid_messages", "invalid_data")
    }

    @Test func `The limit of remembered ids is kept and logged`() async throws {
        try await PythonScene.run("message_limits", "remembered_ids")
    }

    @Test func `An audience that is too large is rejected`() async throws {
        try await PythonScene.run("message_limits", "large_audience")
    }
}
