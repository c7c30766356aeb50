import PushLoop
import PushPostgreSQL
import PushSQLite
import PushServer
import PushTransport
import PushWire

/// `carillon version`: prints the version of the program and of its libraries.
enum VersionVerb {
    static let verb = Verb(
        name: "version", summary: "print the version, the commit and the versions of the libraries",
        options: [Option("json", about: "print one JSON object")],
        examples: [
            ("carillon version", "for people, and for a report of a problem"),
            ("carillon version --json", "for scripts"),
        ]
    ) { arguments in
        let versions = ProgramVersions.current()
        Terminal.output.write(arguments.has("json") ? versions.json : versions.text(on: Terminal.output))
        return .done
    }
}

/// The versions of the program and of what it consists of.
struct ProgramVersions {
    let version: String
    let commit: String
    let swift: String
    let architecture: String
    /// The libraries by name. The version of a library that is not installed is nil.
    let libraries: [(name: String, version: String?)]

    static func current() -> Self {
        Self(
            version: Release.version, commit: Release.commit, swift: Release.swiftVersion,
            architecture: Release.architecture,
            libraries: [
                ("openssl", TransportLibraries.openSSL), ("nghttp2", TransportLibraries.nghttp2),
                ("libevent", EventLibrary.version), ("libzmq", TransportLibraries.zeroMQ),
                ("sqlite", SQLiteLibrary.version), ("simdjson", JSONLibrary.version),
                ("libpq", PostgreSQLLibrary.version()),
            ])
    }

    func text(on terminal: Terminal) -> String {
        let rows =
            [("commit", commit), ("swift", swift), ("arch", architecture)]
            + libraries.map { ($0.name, $0.version ?? "not installed; only a cluster needs it") }
        let width = rows.map(\.0.count).max() ?? 0
        return "carillon \(version)\n" + rows.map { "\(Terminal.padded($0.0, to: width))  \($0.1)\n" }.joined()
    }

    var json: String {
        let members: [(String, JSONValue)] = libraries.map { ($0.name, $0.version.map { .string($0) } ?? .null) }
        return MachineLine.text([
            "version": .string(version), "commit": .string(commit), "swift": .string(swift),
            "arch": .string(architecture), "libraries": .object(Dictionary(uniqueKeysWithValues: members)),
        ])
    }
}
