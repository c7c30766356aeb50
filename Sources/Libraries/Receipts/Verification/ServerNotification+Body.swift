extension ServerNotification {
    /// The maximum length of the body of a notification.
    public static let maxBodyLength = 512 * 1024

    /// Returns the signed payload in the body that the App Store posts: `{"signedPayload": "…"}`. It is not verified
    /// yet: see ``SignedDataVerifier/notification(_:)``.
    public static func signedPayload(in body: [UInt8]) throws(ReceiptRefusal) -> String {
        guard body.count <= maxBodyLength else {
            throw ReceiptRefusal(
                .tooLong, "The notification has \(body.count) bytes; at most \(maxBodyLength) are read.")
        }
        let json: ReceiptJSON
        do {
            json = try StrictJSONReader.read(body)
        } catch {
            throw ReceiptRefusal(error, in: "body", code: .malformedPayload)
        }
        guard json.members != nil else {
            throw ReceiptRefusal(.malformedPayload, "The body is not a JSON object but \(json.kind).")
        }
        guard let payload = try ClaimReader(json).string("signedPayload") else {
            throw ReceiptRefusal(
                .missingClaim,
                json["notification_type"] != nil
                    ? "The notification has version 1, which is not signed; choose version 2 in App Store Connect."
                    : "The body does not have the key signedPayload, as a notification of the App Store has.")
        }
        return payload
    }
}
