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
    /// The maximum number of lines.
    static let most = 100_000
    /// The number of lines after which the file is trimmed.
    private static let trimmedEvery = 1000
    private static let maxSize = 1 << 28

    struct Line: Sendable {
        let bytes: [UInt8]
        let seq: UInt64
        let time: WallTime
        let topic: String
        /// Nil for no app.
        let app: AppID?
        let who: String

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
            self.app = app == "-" ? nil : AppID(app)
            who = document.value("who", in: document.root).flatMap { document.string($0) } ?? ""
        }
    }

    /// Whole lines that follow each other in the file.
    private struct Block {
        let offset: Int
        var size: Int
        /// The number of the first event.
        let first: UInt64
    }

    private struct State {
        /// The number of lines that were added since the file was trimmed.
        var added = 0
        var blocks: [Block] = []
        var newest: UInt64 = 0
        /// Whether the file may have other bytes than the blocks say, because a write has failed.
        var isUncertain = false

        /// The size of all blocks.
        var size: Int { blocks.last.map { $0.offset + $0.size } ?? 0 }

        /// The index of the first block that may have events after a number.
        func begin(after number: UInt64) -> Int { blocks.lastIndex { $0.first <= number } ?? 0 }

        /// Adds a line behind the others.
        mutating func add(_ line: Line) {
            newest = line.seq
            let size = line.bytes.count + 1
            if let last = blocks.last, last.size < OperatorsFile.blockSize {
                blocks[blocks.count - 1].size += size
            } else {
                blocks.append(Block(offset: self.size, size: size, first: line.seq))
            }
        }
    }

    private static let blockSize = 1 << 18
    /// The number of blocks that are read while others wait for the file.
    private static let blocksAtOnce = 8

    private let path: String
    private let directory: String
    private let retention: Duration
    private let pool: BlockingPool
    /// The time by which events age. If the clock of the computer is ahead for a while, it is not.
    private let now: @Sendable () -> WallTime
    /// The lock is held while the file is written or read.
    private let state = Locked(State())

    init(in directory: String, retention: Duration, on pool: BlockingPool, now: @escaping @Sendable () -> WallTime) {
        path = "\(directory)/\(Self.fileName)"
        (self.directory, self.retention, self.pool, self.now) = (directory, retention, pool, now)
    }

    /// Removes what is too old, and returns the number of the newest event; 0 if there is none.
    func open() async throws -> UInt64 {
        try await pool.run { [self] in
            try state.withLock { state in
                try trim(&state)
                return state.newest
            }
        }
    }

    /// The size of the end of a file that is read for its newest line. No line is as long.
    private static let endSize = 1 << 20

    /// Returns the number of the newest event in the file of a directory; 0 if there is none, or if it cannot be read.
    static func newest(in directory: String) -> UInt64 {
        guard let file = try? BackupFile.open("\(directory)/\(fileName)") else { return 0 }
        defer { close(file.descriptor) }
        var end = [UInt8](repeating: 0, count: endSize)
        let offset = max(0, file.size - Int64(endSize))
        let count = end.withUnsafeMutableBytes { pread(file.descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        return end.prefix(max(0, count)).split(separator: 0x0a).reversed().lazy.compactMap { Line(Array($0)) }.first?
            .seq
            ?? 0
    }

    /// Adds lines that are newer than those in the file.
    func add(_ lines: [[UInt8]]) async throws {
        try await pool.run { [self] in
            try state.withLock { state in
                if state.isUncertain { try mend(&state) }
                let newest = state.newest
                let new = lines.compactMap { Line($0) }.filter { $0.seq > newest }
                guard !new.isEmpty else { return }
                state.isUncertain = true
                try SyncedLines.add(
                    Array(new.map { $0.bytes + [0x0a] }.joined()), to: path, in: directory,
                    maxBytes: Int64(Self.maxSize))
                for line in new { state.add(line) }
                state.isUncertain = false
                state.added += new.count
                if state.added >= Self.trimmedEvery { try trim(&state) }
            }
        }
    }

    /// Returns all lines in the order of their numbers, and whether the file has nothing else.
    private func lines() throws -> (lines: [Line], isWhole: Bool) {
        guard BackupFile.exists(path) else { return ([], true) }
        let bytes = try BoundedFile.read(path, limit: Self.maxSize)
        let found = bytes.split(separator: 0x0a).compactMap { Line(Array($0)) }
        let all = found.sorted { $0.seq < $1.seq }
        let lines = all.indices.filter { $0 == 0 || all[$0].seq > all[$0 - 1].seq }.map { all[$0] }
        let size = lines.reduce(0) { $0 + $1.bytes.count + 1 }
        return (lines, size == bytes.count && zip(found, lines).allSatisfy { $0.seq == $1.seq })
    }

    /// Removes what a failed write has left at the end, which may not be on disk, and reads the file again.
    private func mend(_ state: inout State) throws {
        // A size of 0 may be that of a file which could not be read yet.
        if state.size > 0, BackupFile.exists(path) {
            let file = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard file >= 0 else { throw BackupFile.failure("cannot write \(path)") }
            defer { close(file) }
            var status = stat()
            guard fstat(file, &status) == 0 else { throw BackupFile.failure("cannot read \(path)") }
            if Int(status.st_size) > state.size, ftruncate(file, off_t(state.size)) != 0 {
                throw BackupFile.failure("cannot cut \(path)")
            }
        }
        try trim(&state)
    }

    /// Returns as many lines as the file may have. If there are more, those with the most lines lose their oldest ones, so
    /// that no key removes what others did by doing much itself.
    static func shared(_ lines: [Line], most: Int = most) -> [Line] {
        guard lines.count > most else { return lines }
        var left: [String: Int] = [:]
        for line in lines { left[line.who, default: 0] += 1 }
        var (share, room) = (most, most)
        for (index, count) in left.values.sorted().enumerated() {
            share = max(1, room / (left.count - index))
            if count > share { break }
            room -= count
        }
        let kept = lines.filter { line in
            let following = left[line.who] ?? 0
            left[line.who] = following - 1
            return following <= share
        }
        return kept.suffix(most)
    }

    private func trim(_ state: inout State) throws {
        // If this fails, the file may be the earlier or the new one.
        state.isUncertain = true
        let all = try lines()
        let limit = now() - retention
        let kept = Self.shared(all.lines.filter { $0.time >= limit })
        // Behind a line that was cut, the next one could not be read.
        if kept.count < all.lines.count || !all.isWhole {
            try WholeFile.write(Array(kept.map { $0.bytes + [0x0a] }.joined()), to: path, until: .name)
        }
        state = State()
        for line in kept { state.add(line) }
    }

    // MARK: Reading

    /// What a page is to have.
    private struct Query: Sendable {
        let prefix: String
        let apps: [AppID]?
        let since: UInt64
        let span: EventReader.Span

        func takes(_ line: Line) -> Bool {
            line.seq > since && line.time >= span.since && line.time <= span.until && line.topic.hasPrefix(prefix)
                && apps.map { apps in line.app.map { apps.contains($0) } ?? false } ?? true
        }
    }

    /// The lines that were found in some blocks, on the way to the beginning.
    private struct Stretch: Sendable {
        var lines: [[UInt8]] = []
        /// The number where the blocks before these end; nil if there are none.
        var next: UInt64?
        /// The number of the newest event in the file.
        let newest: UInt64
    }

    /// Returns the first lines in some blocks.
    private func first(_ limit: Int, of query: Query) throws -> KeptPage {
        try state.withLock { state in
            var page = KeptPage(lines: [], last: query.since, hasMore: false)
            guard state.newest > query.since else { return page }
            let file = try BackupFile.open(path).descriptor
            defer { close(file) }
            let blocks = state.blocks[state.begin(after: query.since)...]
            for block in blocks.prefix(Self.blocksAtOnce) {
                for line in try read(block, from: file) {
                    guard page.lines.count < limit else {
                        page.hasMore = true
                        return page
                    }
                    page.last = max(page.last, line.seq)
                    if query.takes(line) { page.lines.append(line.bytes) }
                }
            }
            page.hasMore = blocks.count > Self.blocksAtOnce
            return page
        }
    }

    /// Returns the last lines of the whole file. Others can use the file and the pool after some blocks each.
    private func last(_ limit: Int, of query: Query) async throws -> KeptPage {
        var page = KeptPage(lines: [], last: query.since, hasMore: false)
        var end: UInt64? = UInt64.max
        while let before = end, page.lines.count < limit {
            let missing = limit - page.lines.count
            let found = try await pool.run { [self] in try last(missing, of: query, before: before) }
            page.lines = found.lines + page.lines
            // What is added from now on is not in this page.
            if before == UInt64.max { page.last = max(query.since, found.newest) }
            end = found.next
        }
        return page
    }

    /// Returns the last lines before a number in some blocks. Between two calls, the blocks may have changed.
    private func last(_ limit: Int, of query: Query, before end: UInt64) throws -> Stretch {
        try state.withLock { state in
            var found = Stretch(newest: state.newest)
            guard state.newest > query.since else { return found }
            let file = try BackupFile.open(path).descriptor
            defer { close(file) }
            let blocks = state.blocks[state.begin(after: query.since)...].prefix(while: { $0.first < end })
            let group = blocks.suffix(Self.blocksAtOnce)
            for block in group.reversed() where found.lines.count < limit {
                let lines = try read(block, from: file).filter { $0.seq < end && query.takes($0) }
                found.lines = lines.map(\.bytes) + found.lines
            }
            found.lines = Array(found.lines.suffix(limit))
            if blocks.count > group.count { found.next = group.first?.first }
            return found
        }
    }

    private func read(_ block: Block, from file: CInt) throws -> [Line] {
        var bytes = [UInt8](repeating: 0, count: block.size)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress?.advanced(by: count), $0.count - count, off_t(block.offset + count))
            }
            guard read > 0 else { throw BackupFile.failure("cannot read \(path)") }
            count += read
        }
        return bytes.split(separator: 0x0a).compactMap { Line(Array($0)) }
    }
}

extension OperatorsFile: KeptEvents {
    func page(
        prefix: String, apps: [AppID]?, since: UInt64, span: EventReader.Span, limit: Int, ofLast isLast: Bool
    ) async throws -> KeptPage {
        guard limit > 0 else { return KeptPage(lines: [], last: since, hasMore: false) }
        let query = Query(prefix: prefix, apps: apps, since: since, span: span)
        if isLast { return try await last(limit, of: query) }
        return try await pool.run { [self] in try first(limit, of: query) }
    }
}
