/// The head of the last answer, if all of it was references to the tables of header compression. As long as no other block
/// comes in between, these tables do not change, and the same bytes stand for the same fields.
///
/// Services with many fields, such as FCM, give all their answers of a second the same head.
struct HTTP2RepeatedHead {
    private static let maxLength = 64

    private var block: [UInt8] = []
    private var answer = HTTP2AnswerRules()
    private var fields: [UInt8] = []

    /// Whether a block is a reference to one table entry in each byte (RFC 7541, section 6.1).
    private static func isReferences(_ block: UnsafeRawBufferPointer) -> Bool {
        unsafe (1...maxLength).contains(block.count) && block.allSatisfy { (0x81...0xfe).contains($0) }
    }

    /// Takes a head without decoding it. Returns false if it is another one.
    func take(_ block: UnsafeRawBufferPointer, on stream: UnsafeMutablePointer<HTTP2ClientStream>) -> Bool {
        guard block.count == self.block.count, block.count > 0, unsafe block.elementsEqual(self.block) else {
            return false
        }
        unsafe stream.pointee.answer = answer
        unsafe fields.withUnsafeBytes { unsafe stream.pointee.message.setFields($0) }
        return true
    }

    /// Keeps a head that was decoded.
    mutating func keep(_ block: UnsafeRawBufferPointer, of stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        guard unsafe Self.isReferences(block), unsafe !stream.pointee.isTruncated else { return }
        forget()
        unsafe self.block.append(contentsOf: block)
        answer = unsafe stream.pointee.answer
        fields.removeAll(keepingCapacity: true)
        unsafe fields.append(contentsOf: stream.pointee.message.fieldBytes)
    }

    /// Forgets the head, because another block may change the tables.
    mutating func forget() {
        block.removeAll(keepingCapacity: true)
    }
}
