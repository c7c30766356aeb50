import PushConfiguration
import PushLoop
import PushServer
import PushText
import PushTime
import PushWire

/// What `backup` and `restore` print about a backup.
enum BackupAnswer {
    /// Runs a command, and prints its error as JSON if the user has asked for that.
    static func run(_ arguments: Arguments, body: () async throws -> ExitCode) async throws -> ExitCode {
        do {
            return try await body()
        } catch {
            let failure = StoreCommand.failure(error)
            guard arguments.has("json"), failure.code != .usage else { throw failure }
            Terminal.output.write(
                MachineLine.text([
                    "ok": false, "exit_code": .integer(Int64(failure.code.rawValue)),
                    "faults": .texts(
                        failure.description.split(separator: "\n").map { HiddenPassword.line(String($0)) }),
                ]))
            return failure.code
        }
    }

    static func text(
        _ manifest: BackupManifest, of directory: String, adding more: [String: JSONValue?] = [:]
    ) -> String {
        let members: [String: JSONValue?] = [
            "ok": true, "backup": .string(directory), "version": .string(manifest.carillon),
            "created_at": .integer(manifest.createdAt.milliseconds), "host": .string(manifest.host),
            "was_running": .bool(manifest.wasRunning), "seq": .integer(Int64(clamping: manifest.seq)),
            "registry_seq": .integer(Int64(clamping: manifest.registrySeq)),
            "events": .integer(Int64(manifest.events)), "scheduled": .integer(Int64(manifest.scheduled)),
            "message_ids": .integer(Int64(manifest.messageIDs)), "devices": .integer(Int64(manifest.devices)),
            "api_keys": .integer(Int64(manifest.apiKeys)), "size_bytes": .integer(manifest.totalSize),
        ]
        return MachineLine.text(members.merging(more) { $1 })
    }

    static func rows(_ manifest: BackupManifest) -> String {
        PlainText.rows(
            [
                ("made", "\(manifest.createdAt.iso8601) on \(manifest.host), by Carillon \(manifest.carillon)"),
                ("events", "\(manifest.events), up to number \(manifest.seq)"),
                ("message ids", "\(manifest.messageIDs)"), ("scheduled", "\(manifest.scheduled)"),
                ("devices", "\(manifest.devices)"), ("API keys", "\(manifest.apiKeys)"),
                (
                    "files",
                    manifest.files.map { "\($0.name)\($0.version.map { " (version \($0))" } ?? "")" }.joined(
                        separator: ", ")
                ), ("size", size(manifest.totalSize)),
            ], on: Terminal.output)
    }

    private static func size(_ bytes: Int64) -> String {
        bytes >= 10 << 20 ? "\(bytes >> 20) MiB" : "\((bytes + 1023) >> 10) KiB"
    }
}
