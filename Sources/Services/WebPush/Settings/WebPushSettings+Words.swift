package import PushGateways
package import PushTransport

extension WebPushSettings {
    /// What tells the app apart, by the names of its settings.
    package var identity: [(name: String, value: String)] { [("vapid", vapid)] }

    /// The credential in a few words.
    ///
    /// - Parameter fingerprint: That of the key; nil if the file cannot be read.
    package func label(fingerprint: String?) -> String {
        "VAPID key \(fingerprint.map { String($0.prefix(16)) } ?? vapid)"
    }

    /// The credential before its file is read.
    package var source: CredentialSetting { CredentialSetting(.vapid, file: vapid) }

    /// The endpoint of apps whose settings have none. It stands for all origins, and nothing connects to it as such.
    package static let endpoint = HostPort(host: "fcm.googleapis.com", port: 443)

    /// Whether a text is a contact that push services take: a `mailto:` or an `https:` URL. Apple refuses local hosts.
    package static func isSubject(_ text: String) -> Bool {
        guard text.utf8.count <= 512, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return false }
        let host: Substring
        if text.hasPrefix("mailto:") {
            let parts = text.dropFirst(7).split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { return false }
            host = parts[1].prefix { $0 != "?" }
        } else if text.hasPrefix("https://") {
            host = text.dropFirst(8).prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != ":" }
        } else {
            return false
        }
        let name = host.lowercased()
        return name.contains(".") && !name.hasPrefix(".") && !name.hasSuffix(".") && !name.hasSuffix(".localhost")
    }
}
