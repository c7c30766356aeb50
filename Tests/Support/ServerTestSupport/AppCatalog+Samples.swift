import APNs
package import PushAPI
package import PushModel

extension AppCatalog {
    /// A catalog of apps at APNs; nil for one that knows every app.
    package static func sample(_ apps: [AppID]?, environment: String? = nil) -> AppCatalog {
        let all = apps.map { apps in
            apps.map {
                App(
                    id: $0, codec: APNsCodec(app: $0, topic: "com.example.\($0)", usesToken: true),
                    environment: environment)
            }
        }
        return AppCatalog(all, others: APNsCodec.unconfigured)
    }
}
