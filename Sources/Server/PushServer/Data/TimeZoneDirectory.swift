import Glibc
import PushLoop
package import PushTime
import PushTransport

/// The time zone database of the system: a directory with one file for each zone.
package struct TimeZoneDirectory: Sendable {
    /// What a directory was found to have.
    package struct Contents: Sendable {
        package var zones = TimeZones.none
        /// The names of files that are not used because they are damaged.
        package var damaged: [String] = []
    }

    /// The variable by which the C library finds another database.
    package static let variable = "TZDIR"

    private static let maxFiles = 4096
    private static let maxDepth = 3
    private static let maxLinksSize = 1 << 20

    package let path: String

    package init(environment: [String: String]) {
        path = environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/share/zoneinfo"
    }

    /// Reads the database. Blocks. Without a directory there are no zones.
    package func read() -> Contents {
        var found = Found()
        read("", depth: 0, into: &found)
        addLinks(to: &found)
        var contents = Contents(damaged: found.damaged.sorted())
        if !found.zones.isEmpty { contents.zones = TimeZones(found.zones, source: path) }
        return contents
    }

    private struct Found {
        var zones: [String: ZoneRules] = [:]
        var damaged: [String] = []
        /// What was read before: many names have the same content.
        var known: [[UInt8]: ZoneRules] = [:]
        var fileCount = 0
    }

    /// Directories with other forms of the same zones, and files that are no zones.
    private static let others: Set = ["posix", "right", "posixrules", "localtime", "Factory"]

    private func read(_ folder: String, depth: Int, into found: inout Found) {
        guard let names = try? BackupFile.names(in: folder.isEmpty ? path : "\(path)/\(folder)") else { return }
        for name in names where !name.hasPrefix(".") && !Self.others.contains(name) {
            let zone = folder.isEmpty ? name : "\(folder)/\(name)"
            guard found.fileCount < Self.maxFiles else { return }
            found.fileCount += 1
            var status = stat()
            guard stat("\(path)/\(zone)", &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.maxDepth { read(zone, depth: depth + 1, into: &found) }
            } else {
                readZone(zone, into: &found)
            }
        }
    }

    private func readZone(_ name: String, into found: inout Found) {
        guard let bytes = try? BoundedFile.read("\(path)/\(name)", limit: ZoneFile.maxSize), ZoneFile.isOne(bytes)
        else {
            return
        }
        guard let rules = found.known[bytes] ?? ZoneFile.rules(bytes) else { return found.damaged.append(name) }
        found.known[bytes] = rules
        found.zones[name] = rules
    }

    /// Adds the former names of zones, which phones and browsers still report, and which may be in a package of their own.
    private func addLinks(to found: inout Found) {
        guard let bytes = try? BoundedFile.read("\(path)/tzdata.zi", limit: Self.maxLinksSize) else { return }
        for line in bytes.prefix(Self.maxLinksSize).split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 3, words[0].elementsEqual("L".utf8) else { continue }
            let (target, name) = (String(decoding: words[1], as: UTF8.self), String(decoding: words[2], as: UTF8.self))
            if found.zones[name] == nil, let rules = found.zones[target] { found.zones[name] = rules }
        }
    }
}

extension TimeZoneDirectory.Contents {
    /// Says what of the database cannot be used.
    ///
    /// - Parameter old: The zones that stay in use if there are none now.
    func report(to log: Logger, from directory: TimeZoneDirectory, insteadOf old: TimeZones) {
        if zones.isEmpty {
            let effect = old.isEmpty ? "messages with at_local are refused" : "the old ones stay in use until a restart"
            log.warning("there are no time zones, \(effect): install tzdata and reload", [.file: directory.path])
        }
        guard let first = damaged.first else { return }
        log.warning(
            "cannot read \(damaged.count) of the time zones, the first is \(first): install tzdata again",
            [.file: directory.path])
    }
}
