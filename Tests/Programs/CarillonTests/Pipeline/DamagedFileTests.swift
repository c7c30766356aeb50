import TestTraits
import Testing

/// Files of the data directory that are damaged, lost or replaced, with real processes.
@Suite(.waits) struct DamagedFileTests {
    @Test func `Nothing is acknowledged when the files of a running process have lost their names`() async throws {
        try await PythonScene.run("damaged_files", "lost_files")
    }

    @Test func `A data directory that is moved away and back is served again`() async throws {
        try await PythonScene.run("damaged_files", "moved_directory")
    }

    @Test func `A stored message with a flipped bit is not sent`() async throws {
        try await PythonScene.run("damaged_files", "message_bit_flip")
    }

    @Test func `A flipped bit in the write-ahead log is reported, and no number is used twice`() async throws {
        try await PythonScene.run("damaged_files", "ledger_log_bit_flip")
    }

    @Test func `A flipped bit in the write-ahead log of the registry is reported once`() async throws {
        try await PythonScene.run("damaged_files", "registry_log_bit_flip")
    }

    @Test func `A database that was lost after an orderly stop is missed`() async throws {
        try await PythonScene.run("damaged_files", "missing_database")
    }

    @Test func `Beside a ledger that was lost after a kill, no number is used twice`() async throws {
        try await PythonScene.run("damaged_files", "killed_without_ledger")
    }

    @Test func `The files of two installations are not served together`() async throws {
        try await PythonScene.run("damaged_files", "two_installations")
    }

    @Test func `An unusable data directory is reported`() async throws {
        try await PythonScene.run("damaged_files", "unusable_directory")
    }

    @Test func `A damaged message is rejected and reported`() async throws {
        try await PythonScene.run("damaged_files", "damaged_message")
    }
}
