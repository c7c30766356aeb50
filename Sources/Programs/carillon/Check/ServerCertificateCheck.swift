import PushConfiguration
import PushModel
import PushServer
import PushText
import PushTime

/// The end of the certificate of `http.tls`, which producers on other machines and the console depend on.
struct ServerCertificateCheck: Sendable {
    static let advice = "create a new one, replace the file, and run 'carillon reload'"
    /// A certificate that expires within this many seconds causes a warning.
    private static let soon: Int64 = 30 * 86_400

    let file: String
    let expiresAt: WallTime

    init(file: String, expiresAt: WallTime) {
        (self.file, self.expiresAt) = (file, expiresAt)
    }

    /// Reads the certificate. Returns nil if HTTP has none, or if it cannot be read, which is another fault.
    init?(_ http: Configuration.HTTP) {
        guard http.listen != nil, let tls = http.tls, let identity = try? tls.identity() else { return nil }
        self.init(file: tls.certificate, expiresAt: identity.certificate.notAfter)
    }

    /// What is wrong, and whether it is a fault; nil if the certificate is valid for long enough.
    func finding(at now: WallTime) -> (isFault: Bool, what: String)? {
        let left = expiresAt.seconds - now.seconds
        guard left < Self.soon else { return nil }
        let isFault = left <= 0
        return (
            isFault,
            "the certificate of http.tls \(isFault ? "expired" : "expires") \(DurationText.distance(left))"
                + (isFault ? ", and clients reject it" : "")
        )
    }
}
