/// Decodes a body in chunks (RFC 9112, section 7.1) from its bytes as they arrive. Its size is bounded; extensions and
/// trailers are dropped.
struct HTTP1ChunkDecoder {
    private enum State {
        /// Can transition to: data, trailer.
        case size
        /// `rest` bytes of the chunk are missing. Can transition to: dataEnd.
        case data(rest: Int)
        /// Can transition to: size.
        case dataEnd
        /// Can transition to: done.
        case trailer
        case done
    }

    private static let maxLine = 1024
    private static let maxTrailerLines = 64

    private let limit: Int
    private var state = State.size
    private var trailerLines = 0
    private(set) var body: [UInt8] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes bytes from the front, and returns whether the body is complete.
    mutating func take(_ bytes: inout [UInt8]) throws(HTTP1ResponseMachine.Fault) -> Bool {
        var rest = bytes[...]
        defer { bytes = Array(rest) }
        while true {
            switch state {
            case .size:
                guard let line = try Self.line(&rest) else { return false }
                let size = try Self.size(line)
                guard size <= limit - body.count else {
                    throw HTTP1ResponseMachine.Fault("the response is longer than \(limit >> 20) MiB")
                }
                state = size == 0 ? .trailer : .data(rest: size)
            case .data(let missing):
                guard !rest.isEmpty else { return false }
                let count = min(missing, rest.count)
                body.append(contentsOf: rest.prefix(count))
                rest = rest.dropFirst(count)
                state = count == missing ? .dataEnd : .data(rest: missing - count)
            case .dataEnd:
                guard let line = try Self.line(&rest) else { return false }
                guard line.isEmpty else { throw HTTP1ResponseMachine.Fault("a chunk is longer than its size") }
                state = .size
            case .trailer:
                guard let line = try Self.line(&rest) else { return false }
                trailerLines += 1
                guard trailerLines <= Self.maxTrailerLines else {
                    throw HTTP1ResponseMachine.Fault("the response has too many trailers")
                }
                if line.isEmpty { state = .done }
            case .done:
                guard rest.isEmpty else { throw HTTP1ResponseMachine.Fault("the response has bytes after its end") }
                return true
            }
        }
    }

    /// Takes a line from the front; nil if its end has not arrived yet.
    private static func line(
        _ rest: inout ArraySlice<UInt8>
    ) throws(HTTP1ResponseMachine.Fault) -> ArraySlice<UInt8>? {
        guard let end = rest.prefix(maxLine).firstIndex(of: 0x0a) else {
            guard rest.count < maxLine else { throw HTTP1ResponseMachine.Fault("a chunk has no size") }
            return nil
        }
        let line = rest[..<end]
        guard line.last == 0x0d else { throw HTTP1ResponseMachine.Fault("a line of a chunk does not end with CR LF") }
        rest = rest[(end + 1)...]
        return line.dropLast()
    }

    private static func size(_ line: ArraySlice<UInt8>) throws(HTTP1ResponseMachine.Fault) -> Int {
        let digits = line.prefix { Hex.value(of: $0) != nil }
        let end = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard (1...8).contains(digits.count), end.isEmpty || end.first == UInt8(ascii: ";") else {
            throw HTTP1ResponseMachine.Fault("a chunk has an invalid size")
        }
        return digits.reduce(0) { $0 << 4 | Int(Hex.value(of: $1) ?? 0) }
    }
}
