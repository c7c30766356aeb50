import Foundation

/// Reads a body, piece by piece. Files are read when the network takes them, so that memory does not grow with them.
final class BodyReader {
    private let plan: BodyPlan
    private let failure: Locked<RequestError?>
    private var index = 0
    private var offset: Int64 = 0
    private var handle: FileHandle?

    /// Creates a reader that leaves the reason in `failure` if it cannot read.
    init(_ plan: BodyPlan, failure: Locked<RequestError?>) {
        self.plan = plan
        self.failure = failure
    }

    /// Whether there are bytes left.
    var hasBytes: Bool { index < plan.pieces.count }

    /// The reason why reading failed; nil if it did not.
    var problem: RequestError? { failure.withLock { $0 } }

    func close() {
        try? handle?.close()
        handle = nil
    }

    /// Reads up to `length` bytes, and returns their number; 0 at the end, and -1 if a file cannot be read.
    func read(into buffer: UnsafeMutablePointer<UInt8>, length: Int) -> Int {
        guard length > 0, hasBytes else { return 0 }
        let piece = plan.pieces[index]
        let wanted = Int(min(Int64(length), piece.count - offset))
        let count: Int
        switch piece.part {
        case .bytes(let data):
            let start = data.startIndex + Int(offset)
            data.copyBytes(to: buffer, from: start..<(start + wanted))
            count = wanted
        case .file(let url):
            do {
                let data = try read(url, count: wanted)
                data.copyBytes(to: buffer, count: data.count)
                count = data.count
            } catch {
                return fail(BodyPlan.unreadable(url, reason: error.localizedDescription))
            }
            guard count > 0 else {
                return fail(BodyPlan.unreadable(url, reason: "it became shorter while it was sent"))
            }
        }
        offset += Int64(count)
        if offset == piece.count {
            index += 1
            offset = 0
            close()
        }
        return count
    }

    private func read(_ url: URL, count: Int) throws -> Data {
        let handle = try self.handle ?? FileHandle(forReadingFrom: url)
        self.handle = handle
        return try handle.read(upToCount: count) ?? Data()
    }

    private func fail(_ error: RequestError) -> Int {
        failure.withLock { $0 = error }
        close()
        return -1
    }
}
