import Glibc
import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushStore
import PushTime
import PushTransport
import PushWire

/// The events of operators as lines of a file, which keeps them for longer than the log does.
///
/// Lines are added at the end, each synced. A line that a crash or a backup has cut is left out.
final class OperatorsFile: Sendable {
    static let fileName = "operators.jsonl"
    /// The maximum number of lines. The oldest ones are removed first.
    static let most = 100_000
    /// The number of lines after which the file is trimmed.
    private static let trimmedEvery = 1000
    private static let maxSize = 1 << 28

    struct Line: Sendable {
        let bytes: [UInt8]
        let seq: UInt64
        let time: WallTime
        let topic: String

        init?(_ bytes: [UInt8]) {
            guard let document = try? JSONDocument(bytes, depthLimit: 4),
                let seq = document.value("seq", in: document.root).flatMap({ document.integer($0) }), seq > 0,
                let time = document.value("ts", in: document.root).flatMap({ document.integer($0) })
            else { return nil }
            let words = (
                document.value("family", in: document.root).flatMap { document.string($0) },
                document.value("app", in: document.root).flatMap { document.string($0) },
                document.value("kind", in: document.root).flatMap { document.string($0) }
            )
            guard let family = words.0, let app = words.1, let kind = words.2 else { return nil }
            self.bytes = bytes
            self.seq = UInt64(seq)
            self.time = WallTime(milliseconds: time)
            topic = "\(family)/\(app)/\(kind)"
        }
    }

    private let path: String
    private let directory: String
    private let retention: Duration
    private let pool: BlockingPool
    /// The number of lines that were added since the file was trimmed. The lock is held while the file is written.
    private let added = Locked(0)

    init(in directory: String, retention: Duration, on pool: BlockingPool) {
        path = "\(directory)/\(Self.fileName)"
        (self.directory, self.retention, self.pool) = (directory, retention, pool)
    }

    /// Removes what is too old, and returns the number of the newest event; 0 if there is none.
    func open() async throws -> UInt64 {
        try await pool.run { [self] in try added.withLock { _ in try trim().last?.seq ?? 0 } }
    }

    func add(_ lines: [[UInt8]]) async throws {
        guard !lines.isEmpty else { return }
        try await pool.run { [self] in
            try added.withLock { added in
                try append(Array(lines.map { $0 + [0x0a] }.joined()))
                added += lines.count
                guard added >= Self.trimmedEvery else { return }
                added = 0
                _ = try trim()
            }
        }
    }

    private func append(_ bytes: [UInt8]) throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw BackupFile.failure("cannot write \(path)") }
        defer { close(descriptor) }
        try BackupFile.write(bytes, to: descriptor, of: path)
        guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot sync \(path)") }
    }

    /// Returns the lines in the order of their numbers.
    private func lines() throws -> [Line] {
        guard BackupFile.exists(path) else { return [] }
        let bytes = try BoundedFile.read(path, limit: Self.maxSize)
        let all = bytes.split(separator: 0x0a).compactMap { Line(Array($0)) }.sorted { $0.seq < $1.seq }
        return all.indices.filter { $0 == 0 || all[$0].seq > all[$0 - 1].seq }.map { all[$0] }
    }

    private func hasCutLine(_ lines: [Line]) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && Int(status.st_size) != lines.reduce(0) { $0 + $1.bytes.count + 1 }
    }

    private func trim() throws -> [Line] {
        let all = try lines()
        let limit = WallTime.current() - retention
        let kept = Array(all.filter { $0.time >= limit }.suffix(Self.most))
        // Behind a line that was cut, the next one could not be read.
        if kept.count < all.count || hasCutLine(all) {
            try WholeFile.write(Array(kept.map { $0.bytes + [0x0a] }.joined()), to: path, until: .name)
        }
        return kept
    }
}

extension OperatorsFile: KeptEvents {
    func page(
        prefix: String, since: UInt64, span: EventReader.Span, limit: Int, ofLast isLast: Bool
    ) async throws -> KeptPage {
        let all = try await pool.run { [self] in
            try lines().filter { line in
                line.seq > since && line.time >= span.since && line.time <= span.until
                    && line.topic.hasPrefix(prefix)
            }
        }
        let chosen = isLast ? all.suffix(limit) : all.prefix(limit)
        return KeptPage(
            lines: chosen.map(\.bytes), last: chosen.last?.seq ?? since, hasMore: !isLast && chosen.count < all.count)
    }
}
