/// The settings of an app for browsers, besides those that apps of every push service have.
package struct WebPushSettings: Sendable, Equatable {
    /// The file with the VAPID key.
    package var vapid: String
    /// The file with the key before it, while pages still have subscriptions that were made with that key.
    package var formerVAPID: String?
    /// The contact that push services get, a `mailto:` or `https:` URL.
    package var subject: String
    package var origins = OriginRules()
    /// The title of declarative messages that have none.
    package var title: String?
    /// What a declarative message without a link opens.
    package var navigate: String?

    package init(vapid: String, subject: String) {
        self.vapid = vapid
        self.subject = subject
    }
}
