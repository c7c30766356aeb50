import TestTraits
import Testing

/// Backups of real processes, and what a restore makes of them.
@Suite(.waits) struct BackupTests {
    private static let root = #filePath.split(separator: "/").dropLast(5).reduce("") { "\($0)/\($1)" }

    private func run(_ file: String, _ scene: String) async throws {
        try await PythonScene.run(
            file, scene,
            variables: [
                "CARILLON_SUBSCRIBER=\(Self.root)/Tools/examples/subscriber.py",
                "CARILLON_BACKUP_PAGE=\(Self.root)/Documentation/Backup.md",
            ])
    }

    @Test func `A backup under load has what was acknowledged before it, and numbers do not repeat`() async throws {
        try await run("backups", "under_load")
    }

    @Test func `A monitor notices the gap of a restore and goes on`() async throws {
        try await run("backups", "monitor_gap")
    }

    @Test func `A backup that is killed leaves nothing that looks like one`() async throws {
        try await run("backups", "killed_backup")
    }

    @Test func `A backup to a full disk leaves nothing and does not disturb the server`() async throws {
        try await run("backups", "full_disk")
    }

    @Test func `What is not a backup is not restored, and what is not empty is not written`() async throws {
        try await run("restores", "refused_backups")
    }

    @Test func `What waited is sent, cancelled or held, as the operator chooses`() async throws {
        try await run("restores", "waiting_messages")
    }

    @Test func `A stopped directory is copied without a change, also after a kill`() async throws {
        try await run("backups", "stopped_directory")
    }

    @Test func `A restore that is killed at any step leaves the old directory or the new one`() async throws {
        try await run("restores", "killed_restore")
    }

    @Test func `The commands of the page do what it says`() async throws { try await run("backups", "page_commands") }

    @Test func `A cluster is told to use the tools of its database`() async throws {
        try await run("backups", "cluster")
    }
}
