import TestTraits
import Testing

/// Files of the data directory that are damaged, lost or replaced, with real processes.
@Suite(.waits) struct DamageTests {
    @Test func `Nothing is acknowledged when the files of a running process have lost their names`() async throws {
        try await PythonScene.run("damaging", "lost")
    }

    @Test func `A data directory that is moved away and back is served again`() async throws {
        try await PythonScene.run("damaging", "unnoticed")
    }

    @Test func `A stored message with a flipped bit is not sent`() async throws {
        try await PythonScene.run("damaging", "altered")
    }

    @Test func `A flipped bit in the write-ahead log is reported, and no number is used twice`() async throws {
        try await PythonScene.run("damaging", "holed")
    }

    @Test func `A flipped bit in the write-ahead log of the registry is reported once`() async throws {
        try await PythonScene.run("damaging", "forgotten")
    }

    @Test func `A database that was lost after an orderly stop is missed`() async throws {
        try await PythonScene.run("damaging", "missed")
    }

    @Test func `A start with limits that are too low is refused with words`() async throws {
        try await PythonScene.run("damaging", "limited")
    }
}
