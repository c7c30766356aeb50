import Receipts

extension ConfigurationDraft {
    static let receipts: [Setting<ConfigurationDraft>] = [
        Setting(
            "receipts.environments", at: \.values.receipts.environments, as: .receiptEnvironments, applies: .live,
            documentation: """
                The environments whose receipts are accepted: "production" and "sandbox". App Review and TestFlight use \
                the sandbox, App Review also with versions that are in the store.
                """),
        Setting(
            "receipts.revocation", at: \.values.receipts.revocation, as: .choice, applies: .live,
            documentation: """
                "require" accepts signed data only if Apple's responders confirm that its certificates are not revoked; \
                "soft" refuses revoked certificates, and accepts data if no responder answers; "off" asks none.
                """),
        Setting(
            "receipts.roots", atOptional: \.values.receipts.roots, as: .path, applies: .live,
            documentation: """
                A PEM file with root certificates that may sign receipts besides Apple's, such as that of \
                `carillon simulate`. Default: only Apple Root CA - G3.
                """),
        Setting(
            "receipts.shared_secret_file", atOptional: \.values.receipts.sharedSecretFile, as: .path, applies: .live,
            documentation: """
                A file whose first line is the shared secret from App Store Connect. Old receipts with subscriptions \
                need it.
                """),
        Setting(
            "receipts.verify.production", at: \.values.receipts.verify.production, as: .serviceURL, applies: .live,
            documentation: "The address for receipts of the App Store."),
        Setting(
            "receipts.verify.sandbox", at: \.values.receipts.verify.sandbox, as: .serviceURL, applies: .live,
            documentation: "The address for receipts of the sandbox."),
        Setting(
            "receipts.verify.trust", at: \.values.receipts.verify.trust, as: .trust, applies: .live,
            documentation: """
                A PEM file with the root certificates of these servers, or "system" for those of the system.
                """),
    ]
}
