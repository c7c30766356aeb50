/// Several apps that a message may be for at once, such as one for each platform.
package struct Family: Sendable, Equatable {
    /// The largest number of apps of a family.
    package static let maxMembers = 16

    /// The name, which obeys the rules of an app's name, and is none.
    package let name: AppID
    /// The apps, each once. There is at least one.
    package let members: [AppID]

    package init(_ name: AppID, members: [AppID]) {
        self.name = name
        self.members = members
    }
}
