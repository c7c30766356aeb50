package import PushGateways

extension FCMSettings {
    /// What tells the app apart, by the names of its settings. The project is in the file.
    package var identity: [(name: String, value: String)] { [("service_account", serviceAccount)] }

    /// The credential in a few words.
    ///
    /// - Parameter account: The name of the account; nil if the file cannot be read.
    package func label(account: String?) -> String { "service account \(account ?? serviceAccount)" }

    /// The credential before its file is read.
    package var source: CredentialSetting { CredentialSetting(.serviceAccount, file: serviceAccount) }
}
