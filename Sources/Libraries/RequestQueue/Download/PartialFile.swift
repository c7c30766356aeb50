import Foundation

/// The part of a download that is on disk, between attempts and between runs of the program.
///
/// The bytes are in `NAME.partial`, and `NAME.partial.json` says which version of which URL they are. Only bytes that
/// were synced before the description was written count, so that a crash or a power cut leaves fewer bytes, but never
/// wrong ones.
struct PartialFile: Sendable {
    /// The description of the bytes.
    struct Version: Codable, Sendable, Equatable {
        /// The digest of the URL, whose query may be a secret.
        var urlDigest: String
        /// The strong entity tag, or the date of the last change if that identifies the version.
        var validator: String
        var total: Int64?
        var count: Int64
    }

    let destination: URL
    let urlDigest: String

    init(destination: URL, of url: URL) {
        self.destination = destination
        urlDigest = SHA256Digest.text(of: url.absoluteString.utf8, count: 32)
    }

    var bytes: URL { destination.appendingPathExtension("partial") }
    var description: URL { destination.appendingPathExtension("partial.json") }

    /// Returns the version whose bytes can be continued; nil if there is none.
    func resumable() -> Version? {
        guard let data = try? Data(contentsOf: description), data.count <= 65_536,
            let version = try? JSONDecoder().decode(Version.self, from: data), version.urlDigest == urlDigest,
            version.count > 0, version.total.map({ version.count <= $0 }) ?? true,
            let attributes = try? FileManager.default.attributesOfItem(atPath: bytes.path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? NSNumber, size.int64Value >= version.count
        else { return nil }
        return version
    }

    func save(_ version: Version) throws {
        try AtomicFile.write(JSONEncoder().encode(version), to: description)
    }

    /// Removes the bytes. The description goes first: bytes without one are never continued.
    func discard() {
        try? FileManager.default.removeItem(at: description)
        try? FileManager.default.removeItem(at: bytes)
    }

    /// Makes the bytes the destination.
    func publish() throws {
        try? FileManager.default.removeItem(at: description)
        // Foundation has no replacement of a file in one step that leaves neither a gap nor a copy.
        guard rename(bytes.path, destination.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: destination.path])
        }
    }

    /// Returns what identifies the version that a response has: the strong entity tag, or the date of the last change if
    /// it is at least a minute older than the answer (RFC 9110, section 8.8.2.2); nil if nothing does.
    static func validator(of fields: HeaderFields) -> String? {
        if let encoding = fields["Content-Encoding"], encoding.lowercased() != "identity" { return nil }
        if let tag = fields["ETag"] { return tag.hasPrefix("\"") && tag.utf8.count <= 1024 ? tag : nil }
        guard let changed = fields["Last-Modified"], let date = fields["Date"].flatMap(HTTPDate.seconds),
            let seconds = HTTPDate.seconds(changed), seconds <= date - 60
        else { return nil }
        return changed
    }
}

/// The value of `Content-Range`.
struct ContentRange: Sendable, Equatable {
    let first: Int64
    let last: Int64
    let total: Int64?

    /// Reads `bytes 0-99/1000` or `bytes 0-99/*`; nil if the text is another one.
    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first >= 0, first <= last, last < .max else {
            return nil
        }
        self.first = first
        self.last = last
        if halves[1] == "*" {
            total = nil
        } else {
            guard let total = Int64(halves[1]), last < total else { return nil }
            self.total = total
        }
    }
}
