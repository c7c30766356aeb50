import PushModel
import PushTime

extension Caller {
    /// A caller with a key of these roles and apps.
    static func tester(_ name: String, roles: [Role], apps: [AppID]? = nil) -> Caller {
        Caller(
            APIKey(
                id: APIKeyID("k7f3qk2m")!, name: APIKeyName(name)!, roles: RoleSet(roles), apps: apps,
                createdAt: WallTime(milliseconds: 1_767_225_600_000)))
    }
}
