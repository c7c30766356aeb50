import Foundation

/// The body of a response in a file, which appears at its destination when it is complete.
final class FileSink: BodySink {
    private struct State {
        var handle: FileHandle?
        var count: Int64 = 0
        var synced: Int64 = 0
        var total: Int64?
        var validator: String?
        var isFile = false
        var hasEnded = false
    }

    /// The bytes between two syncs. More bytes than these are never lost by a cut.
    private static let syncInterval: Int64 = 16 << 20

    private let partial: PartialFile
    private let max: Int64
    private let version: PartialFile.Version?
    private let other: MemorySink
    private let state = Locked(State())

    /// Creates a sink that continues what is on disk. A body that is not the file, such as that of an error, is kept in
    /// memory.
    init(_ partial: PartialFile, max: Int64, maxOther: Int) {
        self.partial = partial
        self.max = max
        version = partial.resumable()
        other = MemorySink(max: maxOther)
    }

    var startCount: Int64 { state.withLock { $0.count } }

    /// The fields of a request for the rest of the file.
    var fields: [(String, String)] {
        // The size of an encoded body differs from that of the file.
        let plain = [("Accept-Encoding", "identity")]
        guard let version else { return plain }
        return plain + [("Range", "bytes=\(version.count)-"), ("If-Range", version.validator)]
    }

    func begin(_ head: ResponseHead) throws(SinkFailure) {
        guard head.status == 200 || head.status == 206 || head.status == 416 && version != nil else {
            return try other.begin(head)
        }
        let failure: SinkFailure? = state.withLock { state in
            // After its end, the files may be those of another download.
            guard !state.hasEnded else { return ended }
            do throws(SinkFailure) {
                try begin(head, in: &state)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    private func begin(_ head: ResponseHead, in state: inout State) throws(SinkFailure) {
        switch head.status {
        case 200: try beginWhole(head, in: &state)
        case 206: try beginRest(head, in: &state)
        default:
            partial.discard()
            throw changed(head)
        }
    }

    private func beginWhole(_ head: ResponseHead, in state: inout State) throws(SinkFailure) {
        if let count = head.contentLength, count > max { throw tooLarge(head.url) }
        partial.discard()
        try open(at: 0, in: &state)
        state.total = head.contentLength
        state.validator = PartialFile.validator(of: head.fields)
    }

    private func beginRest(_ head: ResponseHead, in state: inout State) throws(SinkFailure) {
        guard let version, let range = head.fields["Content-Range"].flatMap(ContentRange.init),
            range.first == version.count, version.total == nil || range.total == nil || version.total == range.total,
            Self.isOf(version, in: head),
            head.contentLength.map({ $0 == range.last - range.first + 1 }) ?? true
        else {
            partial.discard()
            throw changed(head)
        }
        let total = range.total ?? version.total
        if (total ?? range.last + 1) > max {
            partial.discard()
            throw tooLarge(head.url)
        }
        try open(at: version.count, in: &state)
        state.total = total ?? range.last + 1
        state.validator = version.validator
    }

    /// Returns whether the fields of a part do not name another version. A server that does not know `If-Range` sends a
    /// part of whatever it has.
    private static func isOf(_ version: PartialFile.Version, in head: ResponseHead) -> Bool {
        let name = version.validator.hasPrefix("\"") ? "ETag" : "Last-Modified"
        return head.fields[name].map { $0 == version.validator } ?? true
    }

    func write(_ data: Data) throws(SinkFailure) {
        guard state.withLock({ $0.isFile }) else { return try other.write(data) }
        let failure: SinkFailure? = state.withLock { state in
            guard !state.hasEnded, let handle = state.handle else { return ended }
            let count = state.count + Int64(data.count)
            guard count <= max, count <= state.total ?? max else {
                close(&state)
                partial.discard()
                return tooLarge(nil)
            }
            do {
                try handle.write(contentsOf: data)
                state.count = count
                if count - state.synced >= Self.syncInterval { try sync(&state) }
                return nil
            } catch {
                return unwritable(error.localizedDescription)
            }
        }
        if let failure { throw failure }
    }

    func end(isComplete: Bool) throws(SinkFailure) -> Data {
        let isFile = state.withLock { state in
            if !state.isFile { state.hasEnded = true }
            return state.isFile
        }
        guard isFile else { return try other.end(isComplete: isComplete) }
        let failure: SinkFailure? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            defer { close(&state) }
            do {
                if isComplete, state.total == nil || state.total == state.count {
                    try state.handle?.synchronize()
                    try partial.publish()
                    return nil
                }
                if state.validator == nil { partial.discard() } else { try sync(&state) }
                return isComplete ? cut(state) : nil
            } catch {
                return unwritable(error.localizedDescription)
            }
        }
        if let failure { throw failure }
        return Data()
    }

    private func open(at count: Int64, in state: inout State) throws(SinkFailure) {
        if count == 0, !FileManager.default.createFile(atPath: partial.bytes.path, contents: nil) {
            throw unwritable("the file cannot be created; check that its directory exists and is writable")
        }
        do {
            let handle = try FileHandle(forWritingTo: partial.bytes)
            // Bytes beyond those that were synced with the description may be wrong.
            try handle.truncate(atOffset: UInt64(clamping: count))
            try handle.seek(toOffset: UInt64(clamping: count))
            state.handle = handle
            state.count = count
            state.synced = count
            state.isFile = true
        } catch {
            throw unwritable(error.localizedDescription)
        }
    }

    private func sync(_ state: inout State) throws {
        try state.handle?.synchronize()
        state.synced = state.count
        guard let validator = state.validator, state.count > 0 else { return }
        try partial.save(
            PartialFile.Version(
                urlDigest: partial.urlDigest, validator: validator, total: state.total, count: state.count))
    }

    private func close(_ state: inout State) {
        try? state.handle?.close()
        state.handle = nil
        state.hasEnded = true
    }

    private func cut(_ state: State) -> SinkFailure {
        let total = state.total.map { " of \($0)" } ?? ""
        return SinkFailure(
            kind: .network,
            error: RequestError(
                .connectionLost,
                message: "the download to \(partial.destination.path) ended after \(state.count)\(total) bytes"))
    }

    private func changed(_ head: ResponseHead) -> SinkFailure {
        SinkFailure(
            kind: .changed,
            error: RequestError(
                .downloadChanged,
                message: "the file at \(head.url.plain) changes between the parts of its download; download it later"))
    }

    private func tooLarge(_ url: URL?) -> SinkFailure {
        SinkFailure(
            kind: .final,
            error: RequestError(
                .responseTooLarge,
                message: "the file for \(partial.destination.path) has more bytes than the limit of \(max), or than "
                    + "the server announced; raise maxBytes if the file is right"))
    }

    private var ended: SinkFailure { unwritable("the download has ended") }

    private func unwritable(_ reason: String) -> SinkFailure {
        SinkFailure(
            kind: .final,
            error: RequestError(.fileUnwritable, message: "cannot write \(partial.bytes.path): \(reason)"))
    }
}
