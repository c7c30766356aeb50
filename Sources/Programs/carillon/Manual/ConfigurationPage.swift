import PushConfiguration

/// The page of the configuration, made from the table of settings.
struct ConfigurationPage {
    let date: String

    var page: ManualPage {
        var roff = ManualPage.start("carillon.json5", section: 5, date: date)
        roff.heading("NAME")
        roff.add("carillon.json5 \\- configuration of Carillon")
        roff.heading("SYNOPSIS")
        roff.add(Roff.italic(ConfigurationFile.defaultPaths[0]))
        roff.add(".br")
        roff.add(Roff.italic(ConfigurationFile.defaultPaths[1]))
        roff.heading("DESCRIPTION")
        roff.paragraphs(Self.description)
        roff.heading("SETTINGS")
        roff.paragraphs(Self.settings)
        addSettings(to: &roff)
        roff.heading("ENVIRONMENT")
        roff.item(Roff.italic(ConfigurationFile.variable), about: "The path of the file.")
        roff.item(Roff.italic("CARILLON_…"), about: Self.variables)
        roff.heading("FILES")
        for path in ConfigurationFile.defaultPaths.reversed() {
            let place = path.hasPrefix("/") ? "of the system" : "in the working directory"
            roff.item(Roff.italic(path), about: "The configuration \(place).")
        }
        roff.heading("EXAMPLES")
        roff.paragraphs("An app with a provider key; everything else has its default:")
        roff.literal(Self.example)
        ManualPage.seeAlso(
            ["carillon", "carillon-serve", "carillon-check"].map { ManualPage.reference($0) }, to: &roff)
        return ManualPage(name: "carillon.json5", section: 5, text: roff.text)
    }

    private func addSettings(to roff: inout Roff) {
        var blocks = Dictionary(SettingDescription.blocks.map { ($0.path, $0.documentation) }) { first, _ in first }
        var group: String?
        for setting in SettingDescription.all {
            let parts = setting.path.split(separator: ".").map(String.init)
            let top = parts.count == 1 ? "" : parts[0]
            if top != group {
                group = top
                roff.subheading(top.isEmpty ? "data and store" : top)
                if let about = blocks.removeValue(forKey: top), !about.isEmpty { roff.paragraphs(about) }
            }
            for depth in 2..<max(2, parts.count) {
                let path = parts.prefix(depth).joined(separator: ".")
                guard let about = blocks.removeValue(forKey: path), !about.isEmpty else { continue }
                roff.item(Roff.bold(Self.shown(path)), about: about)
            }
            roff.item(Roff.bold(Self.shown(setting.path)), about: Self.about(setting))
        }
    }

    /// Returns the path with a word for the names that the user chooses.
    private static func shown(_ path: String) -> String {
        path.replacing("apps.*", with: "apps.APP").replacing("clients.*", with: "clients.CLIENT")
    }

    private static func about(_ setting: SettingDescription) -> String {
        let bounds = setting.bounds.map { " From \($0)." } ?? ""
        let usual = setting.defaultValue.map { " Default: \($0)." } ?? ""
        return setting.documentation + bounds + usual + " A change \(setting.reload.effect)."
    }

    private static let description = """
        The configuration of Carillon is a JSON5 file: JSON that may have comments, trailing commas, and keys without \
        quotes. 'carillon serve' reads the first of these: the file that --config names, the file that the variable \
        CARILLON_CONFIG names, carillon.json5 in the working directory, and /etc/carillon/carillon.json5. \
        'carillon check' examines it and lists all faults.

        It needs an app with its credential, and nothing else. An unknown key is an error. Paths are relative to the \
        directory of the file. Durations are written as "250ms", "5s", "10m", "2h" or "7d", and sizes as "512KiB", \
        "64MiB" or "1GiB".

        'carillon reload', or the signal SIGHUP, makes a running Carillon read the file again. Each setting below \
        says when a change applies. A file with a fault is refused as a whole, and the earlier one stays.
        """

    private static let settings = """
        A setting is written here as its path: http.listen is the key listen in the object http. APP and CLIENT stand \
        for names that you choose.
        """

    private static let variables = """
        A setting, which takes the place of the one in the file: its path in capitals with underscores, such as \
        CARILLON_INTAKE_ROUTER or CARILLON_APPS_SHOP_GATEWAY_CONNECTIONS_MAX. In the name of an app, an underscore \
        replaces each character that is not a letter or a digit. The items of a list are separated by commas, and \
        paths are relative to the working directory.
        """

    private static let example = """
        {
          data: "/var/lib/carillon",
          apps: {
            shop: {
              topic: "com.example.shop",
              environment: "production",
              credential: {
                key: "AuthKey_ABC123DEFG.p8",
                key_id: "ABC123DEFG",
                team_id: "DEF123GHIJ",
              },
            },
          },
        }
        """
}
