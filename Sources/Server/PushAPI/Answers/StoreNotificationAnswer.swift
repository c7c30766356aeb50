/// What became of a notification of the App Store.
package struct StoreNotificationAnswer: JSONAnswer, Equatable {
    package var status: String

    /// Its event is on disk.
    package static let stored = StoreNotificationAnswer(status: "stored")
    /// It was stored before.
    package static let duplicate = StoreNotificationAnswer(status: "duplicate")

    package static var about: [String: String] {
        ["status": "`stored` if the event is on disk now, `duplicate` if it was stored before."]
    }
}
