import Foundation

/// A body whose sizes are known, as it is sent in one attempt.
struct BodyPlan: Sendable, Equatable {
    struct Piece: Sendable, Equatable {
        let part: RequestBody.Part
        let count: Int64
    }

    let pieces: [Piece]
    let count: Int64
    let contentType: String?

    /// Looks up the sizes of the files. A file that grows later is sent up to this size; one that becomes shorter ends
    /// the attempt.
    init(_ body: RequestBody) throws(RequestError) {
        var pieces: [Piece] = []
        var sum: Int64 = 0
        for part in body.parts {
            let count: Int64
            switch part {
            case .bytes(let data): count = Int64(data.count)
            case .file(let url): count = try Self.size(of: url)
            }
            let (next, overflows) = sum.addingReportingOverflow(count)
            guard !overflows else {
                throw RequestError(
                    .invalidRequest, message: "the body is too large: its files have more than 2^63 bytes")
            }
            sum = next
            if count > 0 { pieces.append(Piece(part: part, count: count)) }
        }
        self.pieces = pieces
        self.count = sum
        contentType = body.contentType
    }

    private static func size(of url: URL) throws(RequestError) -> Int64 {
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        } catch {
            throw unreadable(url, reason: error.localizedDescription)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? NSNumber else {
            throw unreadable(url, reason: "it is not a regular file")
        }
        return size.int64Value
    }

    static func unreadable(_ url: URL, reason: String) -> RequestError {
        RequestError(.bodyUnreadable, message: "cannot read \(url.path) for the body of a request: \(reason)")
    }
}
