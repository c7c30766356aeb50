/// Reads one answer of HTTP/1.1 from bytes as they come. What came is bounded, and nothing in it is believed.
struct ControlAnswerMachine {
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
        /// The connection ended before the answer did.
        let isCutOff: Bool

        init(_ description: String, isCutOff: Bool = false) {
            self.description = description
            self.isCutOff = isCutOff
        }
    }

    static let headLimit = 16 * 1024
    static let bodyLimit = 16 * 1024 * 1024

    private enum State {
        case head
        /// `length` is nil for a body that ends with the connection.
        case body(status: Int, length: Int?)
    }

    private var state = State.head
    private var bytes: [UInt8] = []
    /// Where the search for the end of the head goes on.
    private var searched = 0

    /// The answer, once it is whole.
    mutating func received(_ piece: some Sequence<UInt8>) throws(Fault) -> ControlAnswer? {
        bytes.append(contentsOf: piece)
        if case .head = state {
            guard let end = headEnd() else {
                if bytes.count > Self.headLimit { throw Fault("its header has no end") }
                return nil
            }
            state = try Self.head(bytes[..<end])
            bytes.removeSubrange(..<(end + 4))
        }
        guard case .body(let status, let length) = state else { return nil }
        guard bytes.count <= Self.bodyLimit else { throw Fault("it is longer than \(Self.bodyLimit >> 20) MiB") }
        guard let length else { return nil }
        guard bytes.count <= length else { throw Fault("it is longer than it said") }
        return bytes.count == length ? ControlAnswer(status: status, body: bytes) : nil
    }

    /// The connection ended.
    mutating func ended() throws(Fault) -> ControlAnswer {
        guard case .body(let status, nil) = state else {
            throw Fault(bytes.isEmpty ? "there was none" : "it ends in the middle", isCutOff: true)
        }
        return ControlAnswer(status: status, body: bytes)
    }

    private mutating func headEnd() -> Int? {
        let mark: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a]
        while searched + 4 <= bytes.count {
            if bytes[searched..<(searched + 4)].elementsEqual(mark) { return searched }
            searched += 1
        }
        return nil
    }

    private static func head(_ bytes: ArraySlice<UInt8>) throws(Fault) -> State {
        guard bytes.count <= headLimit else { throw Fault("its header is too long") }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
            let status = Int(words[1]), (200...599).contains(status)
        else { throw Fault("it is no HTTP") }
        var length: Int?
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].drop { $0 == " " }
            switch parts[0].lowercased() {
            case "content-length":
                guard let number = Int(value), (0...bodyLimit).contains(number), length == nil else {
                    throw Fault("its length is \"\(value)\"")
                }
                length = number
            case "transfer-encoding": throw Fault("it comes in an encoding that was not asked for")
            default: break
            }
        }
        return .body(status: status, length: status == 204 ? 0 : length)
    }
}
