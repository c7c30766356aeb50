/// The header of signed data from the App Store: the algorithm, and the certificates as their Base64 text.
struct SigningHeader {
    /// The leaf. Base64 is read strictly, so that equal texts are equal certificates, and different ones different.
    let leaf: String
    let intermediate: String

    init(_ bytes: [UInt8]) throws(ReceiptRefusal) {
        let json = try Self.object(bytes)
        guard let algorithm = json["alg"]?.string else {
            throw ReceiptRefusal(.unsupportedAlgorithm, "The header does not name an algorithm; it must be ES256.")
        }
        guard algorithm == "ES256" else {
            throw ReceiptRefusal(
                .unsupportedAlgorithm,
                "The header names the algorithm \(ReceiptRefusal.quoted(algorithm)); the App Store signs with ES256.")
        }
        for extended in ["crit", "b64", "zip"] where json[extended] != nil {
            throw ReceiptRefusal(
                .unsupportedHeader, "The header has the parameter \(extended), which the App Store does not use.")
        }
        guard let chain = json["x5c"] else {
            throw ReceiptRefusal(.missingCertificates, "The header has no certificates (x5c).")
        }
        guard let elements = chain.elements else {
            throw ReceiptRefusal(.malformedHeader, "The certificates (x5c) are not an array but \(chain.kind).")
        }
        guard elements.count == 3 else {
            throw ReceiptRefusal(
                .wrongCertificateCount,
                "The header has \(elements.count) certificates; it must have three: leaf, intermediate and root.")
        }
        let texts = elements.compactMap(\.string)
        guard texts.count == 3 else {
            throw ReceiptRefusal(.malformedHeader, "A certificate in the header is not a string.")
        }
        (leaf, intermediate) = (texts[0], texts[1])
        // The root in the header is not used: trust comes from the configured roots.
    }

    private static func object(_ bytes: [UInt8]) throws(ReceiptRefusal) -> ReceiptJSON {
        do {
            let json = try StrictJSONReader.read(bytes)
            guard json.members != nil else {
                throw ReceiptRefusal(.malformedHeader, "The header is not a JSON object but \(json.kind).")
            }
            return json
        } catch let refusal as ReceiptRefusal {
            throw refusal
        } catch let fault as JSONFault {
            throw ReceiptRefusal(fault, in: "header", code: .malformedHeader)
        } catch {
            throw ReceiptRefusal(.malformedHeader, "The header cannot be read.")
        }
    }
}

extension ReceiptRefusal {
    /// Creates the refusal for a text that is not acceptable JSON.
    init(_ fault: JSONFault, in part: String, code: Code) {
        switch fault {
        case .malformed(let problem, let position):
            self.init(code, "The \(part) is not acceptable JSON: \(problem) (at byte \(position)).")
        case .duplicateKey(let key):
            self.init(.duplicateKey, "The \(part) has the key \(Self.quoted(key)) twice in one object.")
        }
    }
}
