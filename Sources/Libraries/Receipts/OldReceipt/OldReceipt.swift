/// The content of an old receipt, as it is in the bundle of an app: **not verified**.
///
/// Anyone can write such a receipt. Use it to find the id of a transaction, and ask the App Store Server API for it,
/// which answers with signed data; or let Apple's server verify the receipt: see ``VerifyReceiptClient``.
public struct OldReceipt: Hashable, Sendable {
    /// A purchase that the receipt claims.
    public struct Purchase: Hashable, Sendable {
        /// The id of the transaction.
        public fileprivate(set) var transactionID: String?
        /// The id of the first transaction of the subscription, or of the purchase that was restored.
        public fileprivate(set) var originalTransactionID: String?
        /// The product.
        public fileprivate(set) var productID: String?
    }

    /// The maximum length of a receipt.
    public static let maxLength = 4 * 1024 * 1024

    /// The bundle id that the receipt claims.
    public private(set) var bundleID: String?
    /// The version of the app that the receipt claims.
    public private(set) var version: String?
    /// The purchases that the receipt claims.
    public private(set) var purchases: [Purchase] = []

    /// The id of a transaction for a question to the App Store Server API: the original one of the first purchase.
    public var transactionID: String? {
        purchases.lazy.compactMap { $0.originalTransactionID ?? $0.transactionID }.first
    }

    /// Reads a receipt in Base64. White space is removed.
    public init(base64 text: String) throws(ReceiptRefusal) {
        guard text.utf8.count <= Self.maxLength * 2 else { throw Self.tooLong }
        let digits = text.utf8.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
        guard let bytes = StrictBase64.decode(digits) else {
            throw ReceiptRefusal(.malformedReceipt, "The receipt is not Base64.")
        }
        try self.init(der: bytes)
    }

    /// Reads a receipt in the form of the file: PKCS#7 in DER, or in BER as Xcode writes it.
    public init(der bytes: [UInt8]) throws(ReceiptRefusal) {
        guard bytes.count <= Self.maxLength else { throw Self.tooLong }
        do {
            for attribute in try Self.attributes(Self.payload(of: bytes)) {
                switch attribute.type {
                case 2: bundleID = try Self.text(attribute.value)
                case 3: version = try Self.text(attribute.value)
                case 17: purchases.append(try Self.purchase(attribute.value))
                default: break
                }
            }
        } catch {
            throw ReceiptRefusal(.malformedReceipt, "The receipt is not the PKCS#7 file of the App Store.")
        }
    }

    private static var tooLong: ReceiptRefusal {
        ReceiptRefusal(.malformedReceipt, "The receipt is longer than \(maxLength >> 20) MiB.")
    }

    // MARK: PKCS#7

    /// Returns the content that is signed in a PKCS#7 file (RFC 2315, sections 7 and 9.1).
    private static func payload(of bytes: [UInt8]) throws(ASN1Reader.Malformed) -> [UInt8] {
        var file = ASN1Reader(bytes[...])
        var info = ASN1Reader(try file.next(ASN1Reader.sequence))
        // The identifiers of signedData and data.
        let prefix: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07]
        guard try info.next(0x06).elementsEqual(prefix + [2]) else { throw ASN1Reader.Malformed() }
        var wrapped = ASN1Reader(try info.next(0xa0))
        var signed = ASN1Reader(try wrapped.next(ASN1Reader.sequence))
        _ = try signed.next(0x02)
        _ = try signed.next(ASN1Reader.set)
        var content = ASN1Reader(try signed.next(ASN1Reader.sequence))
        guard try content.next(0x06).elementsEqual(prefix + [1]) else { throw ASN1Reader.Malformed() }
        var inner = ASN1Reader(try content.next(0xa0))
        return try octets(inner.next())
    }

    /// Returns the bytes of an octet string, which BER may write in pieces.
    private static func octets(_ element: ASN1Reader.Element) throws(ASN1Reader.Malformed) -> [UInt8] {
        if element.tag == ASN1Reader.octets { return Array(element.content) }
        guard element.tag == ASN1Reader.octets | 0x20 else { throw ASN1Reader.Malformed() }
        var pieces = ASN1Reader(element.content)
        var bytes: [UInt8] = []
        while !pieces.isAtEnd { bytes += try pieces.next(ASN1Reader.octets) }
        return bytes
    }

    /// Returns the attributes of a receipt or purchase: a set of sequences of type, version and value.
    private static func attributes(
        _ bytes: [UInt8]
    ) throws(ASN1Reader.Malformed) -> [(type: Int, value: [UInt8])] {
        var outer = ASN1Reader(bytes[...])
        var set = ASN1Reader(try outer.next(ASN1Reader.set))
        var attributes: [(type: Int, value: [UInt8])] = []
        while !set.isAtEnd {
            var attribute = ASN1Reader(try set.next(ASN1Reader.sequence))
            let digits = try attribute.next(0x02)
            guard (1...4).contains(digits.count) else { throw ASN1Reader.Malformed() }
            let type = digits.reduce(0) { $0 << 8 | Int($1) }
            _ = try attribute.next(0x02)
            attributes.append((type, try octets(attribute.next())))
        }
        return attributes
    }

    private static func purchase(_ bytes: [UInt8]) throws(ASN1Reader.Malformed) -> Purchase {
        var purchase = Purchase()
        for attribute in try attributes(bytes) {
            switch attribute.type {
            case 1702: purchase.productID = try text(attribute.value)
            case 1703: purchase.transactionID = try text(attribute.value)
            case 1705: purchase.originalTransactionID = try text(attribute.value)
            default: break
            }
        }
        return purchase
    }

    /// Returns a text: a UTF8String or IA5String. An empty one, which occurs, is nil.
    private static func text(_ bytes: [UInt8]) throws(ASN1Reader.Malformed) -> String? {
        var reader = ASN1Reader(bytes[...])
        let element = try reader.next()
        guard element.tag == 0x0c || element.tag == 0x16,
            let text = String(validating: element.content, as: UTF8.self)
        else { throw ASN1Reader.Malformed() }
        return text.isEmpty ? nil : text
    }
}
