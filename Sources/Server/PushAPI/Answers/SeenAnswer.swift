/// The result of reports that deliveries were displayed or opened.
package struct SeenAnswer: JSONAnswer, Equatable {
    package var taken: Int
    package var unknown: Int

    package static var about: [String: String] {
        [
            "taken": "The number of reports about sent deliveries, also of those that were reported before.",
            "unknown": "The number of reports about deliveries that were not sent for this app, or not recently.",
        ]
    }
}
