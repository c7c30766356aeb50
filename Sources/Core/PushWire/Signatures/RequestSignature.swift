package import PushModel

/// The signature with the label `carillon` of a request: what it covers, its parameters, and its 32 bytes
/// (RFC 9421).
package struct RequestSignature: Sendable {
    package enum Component: UInt8, Sendable, CaseIterable {
        case method, path, query, contentDigest

        /// The name as it stands in the signature base, with its quotation marks.
        package var quoted: StaticString {
            switch self {
            case .method: "\"@method\""
            case .path: "\"@path\""
            case .query: "\"@query\""
            case .contentDigest: "\"content-digest\""
            }
        }

        fileprivate init?(_ name: ByteView) {
            if name.equals("@method") {
                self = .method
            } else if name.equals("@path") {
                self = .path
            } else if name.equals("@query") {
                self = .query
            } else if name.equals("content-digest") {
                self = .contentDigest
            } else {
                return nil
            }
        }
    }

    package static let label: StaticString = "carillon"
    package static let nonceLength = 16...64
    /// The maximum length of each of the header fields.
    package static let maxFieldLength = 4096

    /// The covered components in their order, two bits each from the lowest.
    private var order: UInt8 = 0
    private var count: UInt8 = 0
    /// The named key; nil for a text that is not an id, so that it names no key.
    package private(set) var keyID: APIKeyID?
    /// The time at which the client signed, in seconds since 1970.
    package private(set) var created: Int64 = 0
    /// The end of the signature, if the client gives one.
    package private(set) var expires: Int64?
    package private(set) var nonce: [UInt8] = []
    /// The components and parameters exactly as they were sent: the value of `"@signature-params"`.
    package private(set) var parameters: [UInt8] = []
    /// The signature; always 32 bytes.
    package private(set) var bytes: [UInt8] = []

    package var coversDigest: Bool { count == 4 }

    /// Parses the fields. Returns nil if neither has the label `carillon`.
    ///
    /// - Parameters:
    ///   - inputs: the values of the `Signature-Input` fields.
    ///   - signatures: the values of the `Signature` fields.
    package static func read(
        inputs: [String], signatures: [String]
    ) throws(SignatureFault) -> RequestSignature? {
        var result = RequestSignature()
        let hasInput = try labeled(inputs, orThrow: .malformedInput) { reader throws(SignatureFault) in
            try result.readInput(&reader)
        }
        let hasSignature = try labeled(signatures, orThrow: .malformedSignature) { reader throws(SignatureFault) in
            guard reader.take(UInt8(ascii: "=")), let text = reader.byteSequence(),
                let bytes = Base64Text.decode(text), bytes.count == 32, reader.skipParameters()
            else { throw .malformedSignature }
            result.bytes = bytes
        }
        guard hasInput || hasSignature else { return nil }
        guard hasInput, hasSignature else { throw .missingSignature }
        return result
    }

    /// Calls `read` behind the label. Returns whether it occurs; other labels are skipped.
    private static func labeled(
        _ fields: [String], orThrow fault: SignatureFault,
        read: (inout StructuredFieldReader) throws(SignatureFault) -> Void
    ) throws(SignatureFault) -> Bool {
        var isFound = false
        for field in fields {
            let result = ByteView.lending(field) { bytes -> Result<Void, SignatureFault> in
                do throws(SignatureFault) {
                    guard bytes.count <= maxFieldLength else { throw .tooLong }
                    var reader = StructuredFieldReader(bytes)
                    var isFirst = true
                    while let hasMember = reader.beginMember(isFirst: isFirst) {
                        guard hasMember else { return .success(()) }
                        isFirst = false
                        guard let key = reader.key() else { throw fault }
                        if key.equals(label) {
                            guard !isFound else { throw .repeatedLabel }
                            isFound = true
                            try read(&reader)
                        } else if !reader.skipMemberValue() {
                            throw fault
                        }
                    }
                    throw fault
                } catch {
                    return .failure(error)
                }
            }
            try result.get()
        }
        return isFound
    }

    // MARK: Signature-Input

    private mutating func readInput(_ reader: inout StructuredFieldReader) throws(SignatureFault) {
        guard reader.take(UInt8(ascii: "=")) else { throw .malformedInput }
        let start = reader.offset
        try readComponents(&reader)
        var given: UInt8 = 0
        while reader.take(UInt8(ascii: ";")) {
            reader.skipSpaces()
            guard let name = reader.key(), let parameter = Parameter(name) else { throw .unknownParameter }
            guard given & parameter.rawValue == 0 else { throw .repeatedParameter }
            given |= parameter.rawValue
            guard reader.take(UInt8(ascii: "=")) else { throw .malformedInput }
            try read(parameter, from: &reader)
        }
        guard given & Parameter.required == Parameter.required else { throw .missingParameter }
        parameters = reader.bytes[start..<reader.offset].copied
    }

    private mutating func readComponents(_ reader: inout StructuredFieldReader) throws(SignatureFault) {
        guard reader.take(UInt8(ascii: "(")) else { throw .malformedInput }
        var seen: UInt8 = 0
        var isFirst = true
        while true {
            let before = reader.offset
            reader.skipSpaces()
            if reader.take(UInt8(ascii: ")")) { break }
            guard isFirst || reader.offset > before else { throw .malformedInput }
            isFirst = false
            // A component with a parameter, such as ";sf", is not one of the components: the next byte is a semicolon.
            guard let name = reader.plainString() else { throw .malformedInput }
            guard let component = Component(name), seen & 1 << component.rawValue == 0 else { throw .wrongComponents }
            seen |= 1 << component.rawValue
            order |= component.rawValue << (2 * count)
            count += 1
        }
        guard seen & 7 == 7 else { throw .wrongComponents }
    }

    private enum Parameter: UInt8 {
        case created = 1
        case nonce = 2
        case keyID = 4
        case algorithm = 8
        case expires = 16
        /// The application; it is signed, and has no meaning here.
        case tag = 32

        static let required: UInt8 = 15

        init?(_ name: ByteView) {
            if name.equals("created") {
                self = .created
            } else if name.equals("nonce") {
                self = .nonce
            } else if name.equals("keyid") {
                self = .keyID
            } else if name.equals("alg") {
                self = .algorithm
            } else if name.equals("expires") {
                self = .expires
            } else if name.equals("tag") {
                self = .tag
            } else {
                return nil
            }
        }
    }

    private mutating func read(
        _ parameter: Parameter, from reader: inout StructuredFieldReader
    ) throws(SignatureFault) {
        switch parameter {
        case .created, .expires:
            guard let time = reader.integer() else { throw .malformedInput }
            if parameter == .created { created = time } else { expires = time }
        case .nonce:
            guard let text = reader.plainString() else { throw .malformedInput }
            guard Self.nonceLength.contains(text.count) else { throw .wrongNonce }
            nonce = text.copied
        case .keyID:
            guard let text = reader.plainString() else { throw .malformedInput }
            keyID = APIKeyID(bytes: text.copied)
        case .algorithm:
            guard let text = reader.plainString() else { throw .malformedInput }
            guard text.equals("hmac-sha256") else { throw .wrongAlgorithm }
        case .tag:
            guard reader.plainString() != nil else { throw .malformedInput }
        }
    }

    // MARK: Signature base

    /// Appends the signature base (RFC 9421, section 2.5).
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - target: the target as sent: the path, and the query behind a question mark.
    ///   - digest: the value of the `Content-Digest` field; used if the signature covers it.
    package func appendBase(method: String, target: String, digest: String, to base: inout [UInt8]) {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.utf8.endIndex
        for index in 0..<count {
            guard let component = Component(rawValue: order >> (2 * index) & 3) else { continue }
            base.append(word: component.quoted)
            base.append(UInt8(ascii: ":"))
            base.append(UInt8(ascii: " "))
            switch component {
            case .method: base.append(contentsOf: method.utf8)
            case .path: base.append(contentsOf: target.utf8[..<mark])
            case .query:
                if mark == target.utf8.endIndex {
                    base.append(UInt8(ascii: "?"))
                } else {
                    base.append(contentsOf: target.utf8[mark...])
                }
            case .contentDigest: base.append(contentsOf: digest.utf8)
            }
            base.append(UInt8(ascii: "\n"))
        }
        base.append(word: "\"@signature-params\": ")
        base.append(contentsOf: parameters)
    }
}

extension Array<UInt8> {
    fileprivate mutating func append(word: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
